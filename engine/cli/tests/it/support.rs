//! Running the command in a directory of its own.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing that is waited for takes longer, unless it never happens.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with input, output and control files of its own.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// The command with `args`, which are parted by spaces.
    pub fn command(&self, args: &str) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_millstream")), args)
    }

    pub fn command_of(&self, program: &Path, args: &str) -> Command {
        let mut command = Command::new(program);
        command.args(args.split_whitespace()).current_dir(self.dir.path());
        command.env("MILLSTREAM_HOME", self.path("home")).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &str) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// The command behind one of the shell.
    pub fn run_below(&self, first: &str, args: &str) -> Ran {
        let script = format!("{first} && exec \"$0\" {args}");
        let mut command = self.command_of(Path::new("sh"), "-c");
        Ran::of(command.arg(script).arg(env!("CARGO_BIN_EXE_millstream")).output().unwrap())
    }

    /// Starts the command and goes on.
    pub fn start(&self, args: &str) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn summary(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("summary.json")).unwrap()).unwrap()
    }

    /// All lines of the visible files of an output directory.
    pub fn lines(&self, dir: &str) -> Vec<String> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(self.path(dir)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| !file.file_name().unwrap().to_str().unwrap().starts_with('.'));
        files.sort();
        let text = |file: &PathBuf| fs::read_to_string(file).unwrap();
        files.iter().flat_map(|file| text(file).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    pub fn sorted(&self, dir: &str) -> Vec<String> {
        let mut lines = self.lines(dir);
        lines.sort();
        lines
    }

    /// Every path in the directory.
    pub fn everything(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                }
                found.insert(entry.path());
            }
        }
        found
    }

    /// The only running job, once `fits` is true of it.
    pub fn job(&self, fits: impl Fn(&Value) -> bool) -> Value {
        wait_for("a running job", || {
            let listed: Value = serde_json::from_str(&self.run("list --json").stdout).unwrap();
            listed.as_array().unwrap().first().filter(|job| fits(job)).cloned()
        })
    }
}

/// Looks again and again until there is something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::yield_now();
    }
}

/// What a run of the command left.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub fn ends_well(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// One line of error, at most one hint, nothing on stdout.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!(self.code, Some(2), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(lines[0].starts_with("error: ") && lines[0].matches(": ").count() >= 3, "{}", self.stderr);
        assert!(lines.len() == 1 || (lines.len() == 2 && lines[1].starts_with("hint: ")), "{}", self.stderr);
        self.stderr
    }
}

pub fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
}
