//! Where the command keeps its files: checkpoints and the control sockets of running jobs.
//!
//! `MILLSTREAM_HOME` is the home directory when it is set; then everything is there. Else the home is `.millstream` in
//! the current directory, and sockets are in a directory of the user's own that every `millstream list` of this
//! machine finds: `$XDG_RUNTIME_DIR/millstream`, or `millstream-<uid>` in the system's temporary directory (ruling 25).

use crate::hash::short_hash;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of a socket's path that every supported system takes.
const SOCKET_PATH_MAX: usize = 100;

/// Bytes of the longest name of a socket file: job id, a dash, a hash, `.sock`, with the slash before.
const SOCKET_NAME_MAX: usize = 1 + 32 + 1 + 16 + 5;

/// The directories of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The home directory.
    dir: PathBuf,
    /// Whether the user named it.
    explicit: bool,
    /// Directory of the control sockets.
    sockets: PathBuf,
}

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `MILLSTREAM_HOME`.
    pub home: Option<OsString>,
    /// `XDG_RUNTIME_DIR`.
    pub runtime: Option<OsString>,
    /// The system's temporary directory.
    pub temporary: PathBuf,
    /// The current directory.
    pub current: PathBuf,
    /// The user's number.
    pub uid: u32,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        Self {
            home: std::env::var_os("MILLSTREAM_HOME"),
            runtime: std::env::var_os("XDG_RUNTIME_DIR"),
            temporary: std::env::temp_dir(),
            current: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            uid: rustix::process::getuid().as_raw(),
        }
    }
}

impl Home {
    /// The directories that hold in these surroundings. Touches nothing.
    pub fn new(around: &Surroundings) -> Self {
        let set = |var: &Option<OsString>| var.clone().filter(|v| !v.is_empty()).map(PathBuf::from);
        let shared = |root: &Path| match set(&around.runtime).filter(|dir| dir.is_absolute()) {
            Some(runtime) => runtime.join("millstream"),
            None => root.join(format!("millstream-{}", around.uid)),
        };
        let named = set(&around.home);
        let explicit = named.is_some();
        let dir = around.current.join(named.unwrap_or_else(|| PathBuf::from(".millstream")));
        let wanted = if explicit { dir.clone() } else { shared(&around.temporary) };
        // A path that a socket cannot have becomes a short one that the same wish always leads to.
        let hashed = |root: &Path| shared(root).join(short_hash(wanted.as_os_str().as_bytes()));
        let candidates = [wanted.clone(), hashed(&around.temporary)];
        let fits = |dir: &PathBuf| dir.as_os_str().len() + SOCKET_NAME_MAX <= SOCKET_PATH_MAX;
        let short = || Path::new("/tmp").join(format!("millstream-{}", around.uid));
        let sockets = candidates.into_iter().find(fits);
        let sockets = sockets.unwrap_or_else(|| short().join(short_hash(wanted.as_os_str().as_bytes())));
        Self { dir, explicit, sockets }
    }

    /// The home directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where checkpoints are kept when the configuration does not say.
    pub fn checkpoints(&self) -> PathBuf {
        self.dir.join("checkpoints")
    }

    /// Directory of the control sockets.
    pub fn sockets(&self) -> &Path {
        &self.sockets
    }

    /// Name, without extension, of the socket of a job that keeps its files in `scope`. One process at a time has it.
    ///
    /// In a home that the user named it is the job's id. In the directory that all homes share, two jobs of one name
    /// that have nothing in common must not exclude each other, so the name also says where the job keeps its files.
    pub fn socket_stem(&self, job_id: &str, scope: &Path) -> String {
        if self.explicit {
            return job_id.to_owned();
        }
        let scope = self.dir.parent().unwrap_or(&self.dir).join(scope);
        let scope = std::path::absolute(&scope).unwrap_or(scope);
        format!("{job_id}-{}", short_hash(scope.as_os_str().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(home: Option<&str>, runtime: Option<&str>, temporary: &str) -> Surroundings {
        Surroundings {
            home: home.map(OsString::from),
            runtime: runtime.map(OsString::from),
            temporary: temporary.into(),
            current: "/data/jobs".into(),
            uid: 1001,
        }
    }

    #[test]
    fn without_a_named_home_files_are_here_and_sockets_where_everybody_of_this_user_looks() {
        let home = Home::new(&around(None, None, "/tmp"));
        assert_eq!(home.checkpoints(), Path::new("/data/jobs/.millstream/checkpoints"));
        assert_eq!(home.sockets(), Path::new("/tmp/millstream-1001"));
        let home = Home::new(&around(Some(""), Some("/run/user/1001"), "/tmp"));
        assert_eq!(home.sockets(), Path::new("/run/user/1001/millstream"));
    }

    #[test]
    fn a_named_home_has_everything() {
        let home = Home::new(&around(Some("ms"), Some("/run/user/1001"), "/tmp"));
        assert_eq!(home.dir(), Path::new("/data/jobs/ms"));
        assert_eq!(home.sockets(), Path::new("/data/jobs/ms"));
        assert_eq!(home.socket_stem("abc", Path::new("/ck")), "abc");
    }

    #[test]
    fn a_path_too_long_for_a_socket_becomes_a_short_one_that_is_always_the_same() {
        let long = format!("/{}", "x".repeat(90));
        let first = Home::new(&around(Some(&long), None, "/tmp"));
        assert_eq!(first, Home::new(&around(Some(&long), None, "/tmp")));
        assert!(first.sockets().starts_with("/tmp/millstream-1001"), "{first:?}");
        let other = Home::new(&around(Some(&format!("{long}y")), None, "/tmp"));
        assert_ne!(first.sockets(), other.sockets());
        for temporary in ["/tmp", &long] {
            let home = Home::new(&around(Some(&long), None, temporary));
            let longest = home.sockets().join(format!("{}-{}.sock", "a".repeat(32), "b".repeat(16)));
            assert!(longest.as_os_str().len() <= SOCKET_PATH_MAX, "{longest:?}");
            assert_eq!(home.dir(), Path::new(&long));
        }
    }

    #[test]
    fn jobs_of_one_name_that_keep_their_files_apart_do_not_exclude_each_other() {
        let home = Home::new(&around(None, None, "/tmp"));
        let stem = |scope: &str| home.socket_stem("abc", Path::new(scope));
        assert_ne!(stem("/a"), stem("/b"));
        assert_eq!(stem("ck"), stem("/data/jobs/ck"));
    }
}
