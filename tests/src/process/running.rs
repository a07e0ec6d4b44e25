//! A process of the command, and how it ended.

use super::wait::{wait_for, wait_within};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// A running process of the command. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    pub(super) child: Child,
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
}

impl Running {
    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far on stderr.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap_or_default()).into_owned()
    }

    /// The line that says what it goes on from, once it is there: the job runs, records flow.
    pub fn start_line(&self) -> Option<String> {
        let said = self.said();
        // A line that is not ended may be half of one.
        let whole = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let mut starts =
            whole.filter(|line| line.starts_with("resuming from ") || line.starts_with("starting "));
        starts.next().map(str::to_owned)
    }

    /// Waits until the job runs, and says what it went on from.
    ///
    /// # Panics
    /// It ends before that.
    #[track_caller]
    pub fn started(&mut self) -> String {
        wait_for("a started job", || {
            let line = self.start_line();
            assert!(line.is_some() || self.over().is_none(), "it ended at once: {}", self.said());
            line
        })
    }

    /// How it ended, if it has.
    ///
    /// # Panics
    /// The system does not say.
    pub fn over(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of ours")
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// The system does not take it.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(sent.expect("there is a kill command").success());
    }

    /// Kills it as `kill -9` does. What it was by then: still running, or ended by itself.
    ///
    /// # Panics
    /// The system does not say.
    pub fn kill(mut self) -> Ended {
        let _ = self.child.kill();
        self.child.wait().expect("a child of ours");
        self.ended()
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// It does not within a minute.
    #[track_caller]
    pub fn wait(self) -> Ended {
        self.wait_at_most(Duration::from_secs(60))
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// It does not in time.
    #[track_caller]
    pub fn wait_at_most(mut self, time: Duration) -> Ended {
        wait_within(time, "the end of a process", || self.over());
        self.ended()
    }

    fn ended(mut self) -> Ended {
        let status = self.over().expect("it has ended");
        let read = |file| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
        Ended { status, start_line: self.start_line(), stdout: read(&self.stdout), stderr: self.said() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process left.
#[derive(Clone, Debug)]
pub struct Ended {
    status: ExitStatus,
    /// What it went on from, if it came that far.
    pub start_line: Option<String>,
    /// Its results.
    pub stdout: String,
    /// Its progress and errors.
    pub stderr: String,
}

impl Ended {
    /// The exit code; none when it was killed.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Whether a signal ended it.
    pub fn was_killed(&self) -> bool {
        self.status.signal().is_some()
    }

    /// It ended with code 0, and without the words of a panic.
    ///
    /// # Panics
    /// It did not.
    #[track_caller]
    pub fn well(self) -> Self {
        assert_eq!(self.code(), Some(0), "{}", self.stderr);
        self.without_panic()
    }

    /// It failed, with code 1, and its error names all of `parts`.
    ///
    /// # Panics
    /// It did not.
    #[track_caller]
    pub fn failed(self, parts: &[&str]) -> Self {
        self.wrong(1, parts)
    }

    /// It was refused, with code 2, in one line that names all of `parts`, and nothing on stdout.
    ///
    /// # Panics
    /// It was not.
    #[track_caller]
    pub fn refused(self, parts: &[&str]) -> Self {
        assert!(self.stdout.is_empty(), "{}", self.stdout);
        self.wrong(2, parts)
    }

    #[track_caller]
    fn wrong(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code(), Some(code), "{}", self.stderr);
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "one line says what went wrong: {}", self.stderr);
        let hint = self.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap_or_default();
        let text = format!("{}\n{hint}", errors[0]);
        for part in parts {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
        self.without_panic()
    }

    #[track_caller]
    fn without_panic(self) -> Self {
        for word in ["panicked at", "RUST_BACKTRACE", "stack backtrace"] {
            assert!(!self.stderr.contains(word), "{}", self.stderr);
        }
        self
    }
}
