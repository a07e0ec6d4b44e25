//! The right to run a job: held by one process at a time, gone with it.
//!
//! A lock file next to the socket decides (the operating system drops the lock of a dead process, so nothing is ever
//! stale); whoever holds it may remove a socket that a dead process left and bind its own. Invariant: the lock counts
//! only while the file that is locked is still the one with that name, since the holder removes it when it leaves.

use crate::failure::Failure;
use crate::home::Home;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Tries before something must be wrong: a lock file may vanish between opening and locking it, or a holder be dying.
const ATTEMPTS: usize = 1000;

/// How long a holder may take to be gone: a process that was killed a moment ago holds its locks until the system has
/// cleared it away. A refusal takes no longer than this.
const DYING: Duration = Duration::from_millis(300);

/// How often to look again meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// The right to run a job, with the socket that belongs to it.
#[derive(Debug)]
pub struct Claim {
    lock_path: PathBuf,
    socket_path: PathBuf,
    /// Directories that were made for it, the innermost last.
    made: Vec<PathBuf>,
    _lock: File,
}

impl Claim {
    /// Takes the right to run the job `job_id`, which keeps its files in `scope`.
    ///
    /// # Errors
    /// Refused when another process has it (named by its pid), or when its files cannot be made safely.
    pub fn take(
        home: &Home,
        name: &str,
        job_id: &str,
        scope: &Path,
    ) -> Result<(Self, UnixListener), Failure> {
        let dir = home.sockets();
        let stem = home.socket_stem(job_id, scope);
        let refused = |path: &Path, error: io::Error| {
            Failure::refused("open control socket", path.display().to_string(), error)
                .hint("MILLSTREAM_HOME names another directory")
        };
        let (lock_path, socket_path) = (dir.join(format!("{stem}.lock")), dir.join(format!("{stem}.sock")));
        let mut made = Vec::new();
        let begun = Instant::now();
        for _ in 0..ATTEMPTS {
            made.extend(make_private(dir).map_err(|error| refused(dir, error))?);
            match try_lock(&lock_path) {
                Ok(Locked::Ours(lock)) => {
                    let claim = Self { lock_path, socket_path, made, _lock: lock };
                    let listener = claim.bind().map_err(|error| refused(&claim.socket_path, error))?;
                    return Ok((claim, listener));
                }
                Ok(Locked::Theirs(_)) if begun.elapsed() < DYING => thread::sleep(LOOK),
                Ok(Locked::Theirs(pid)) => {
                    let cause = format!("already running as process {pid}");
                    return Err(Failure::refused("start", format!("job {name} ({job_id})"), cause)
                        .hint(format!("end it first: millstream stop {name}, or millstream cancel {name}")));
                }
                Ok(Locked::Gone) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(refused(&lock_path, error)),
            }
        }
        Err(refused(&lock_path, io::Error::other("the lock file keeps vanishing")))
    }

    /// Where the job can be reached.
    pub fn socket_path(&self) -> &Path {
        &self.socket_path
    }

    fn bind(&self) -> io::Result<UnixListener> {
        match fs::remove_file(&self.socket_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&self.socket_path)?;
        fs::set_permissions(&self.socket_path, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // In this order: nobody can connect to a job that is leaving, and the lock is the last to go.
        let _ = fs::remove_file(&self.socket_path);
        let _ = fs::remove_file(&self.lock_path);
        for dir in self.made.iter().rev() {
            let _ = fs::remove_dir(dir);
        }
    }
}

enum Locked {
    Ours(File),
    Theirs(String),
    Gone,
}

/// Tries to lock the file at `path`, which is made when missing, and writes this process's number into it.
fn try_lock(path: &Path) -> io::Result<Locked> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.take(32).read_to_string(&mut holder)?;
            let holder = holder.trim();
            return Ok(Locked::Theirs(if holder.is_empty() { "unknown" } else { holder }.to_owned()));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let same = match fs::metadata(path) {
        Ok(now) => now.ino() == file.metadata()?.ino(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if !same {
        return Ok(Locked::Gone);
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    Ok(Locked::Ours(file))
}

/// Makes a directory that only its owner can enter, with those above it; gives those that were made. One that exists
/// must be a directory of ours that nobody else can write to.
fn make_private(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| fs::symlink_metadata(dir).is_err()).collect();
    let mut made = Vec::new();
    for dir in missing.into_iter().rev().filter(|dir| !dir.as_os_str().is_empty()) {
        match DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => made.push(dir.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let found = fs::metadata(dir)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory"));
    }
    let uid = rustix::process::getuid().as_raw();
    if found.uid() != uid || found.mode() & 0o022 != 0 {
        let cause = "others can write to the directory, so they could pose as a job";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, cause));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Surroundings;

    fn home(dir: &Path) -> Home {
        Home::new(&Surroundings { home: Some(dir.join("home").into()), ..Surroundings::of_process() })
    }

    fn take(home: &Home) -> Result<(Claim, UnixListener), Failure> {
        Claim::take(home, "pass", "abcd", Path::new("ck"))
    }

    #[test]
    fn ms_074_a_second_claim_is_refused_and_names_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let (first, _listener) = take(&home).unwrap();
        let refused = take(&home).unwrap_err();
        assert_eq!(refused.code, 2);
        assert!(refused.cause.contains(&std::process::id().to_string()), "{refused}");
        Claim::take(&home, "count", "ef01", Path::new("ck")).unwrap();
        drop(first);
        take(&home).unwrap();
    }

    #[test]
    fn ms_074_a_holder_that_is_about_to_be_gone_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let (first, _listener) = take(&home).unwrap();
        let (_never, silence) = std::sync::mpsc::channel::<()>();
        let dying = std::thread::spawn(move || {
            let _ = silence.recv_timeout(DYING / 6);
            drop(first);
        });
        take(&home).unwrap();
        dying.join().unwrap();
    }

    #[test]
    fn only_the_owner_can_use_it_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let (claim, _listener) = take(&home).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(claim.socket_path(), home.dir().join("abcd.sock"));
        assert_eq!((mode(home.sockets()), mode(claim.socket_path())), (0o700, 0o600));
        drop(claim);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn ms_074_a_socket_and_a_lock_file_of_a_dead_process_are_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        fs::create_dir(home.dir()).unwrap();
        drop(UnixListener::bind(home.dir().join("abcd.sock")).unwrap());
        fs::write(home.dir().join("abcd.lock"), "999999\n").unwrap();
        take(&home).unwrap();
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        fs::create_dir(home.dir()).unwrap();
        fs::set_permissions(home.dir(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(take(&home).unwrap_err().code, 2);
        fs::remove_dir(home.dir()).unwrap();
        fs::write(home.dir(), "a file in the way").unwrap();
        assert_eq!(take(&home).unwrap_err().code, 2);
    }
}
