//! A directory of its own for the files of one job.

use super::binary::{binary, trials};
use super::output::{Lines, Side, files};
use super::running::{Ended, Running};
use super::wait::wait_for;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A directory with the input, the output and the control files of a job, gone when this is dropped.
#[derive(Debug)]
pub struct Place {
    dir: TempDir,
    said: AtomicU32,
    program: PathBuf,
    /// Runs the command, in place of whoever runs the tests.
    user: Option<u32>,
}

/// A user without rights.
const NOBODY: u32 = 65_534;

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    /// An empty one.
    ///
    /// # Panics
    /// There is no room for temporary files.
    pub fn new() -> Self {
        Self::of(binary())
    }

    /// An empty one for the jobs of `tests/trials`.
    ///
    /// # Panics
    /// There is no room for temporary files.
    pub fn of_trials() -> Self {
        Self::of(trials())
    }

    fn of(program: &Path) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { dir, said: AtomicU32::new(0), program: program.to_owned(), user: None }
    }

    /// A place of a user whom permissions bind, as they do not bind root: another one when root runs the tests.
    ///
    /// # Panics
    /// There is no room for the binary.
    pub fn of_a_plain_user() -> Self {
        let mut place = Self::new();
        if is_root(place.dir.path()) {
            chown(place.dir.path(), Some(NOBODY), Some(NOBODY)).expect("root may give a directory away");
            // The directories around the original may be closed to others.
            let copy = place.path("millstream");
            fs::copy(&place.program, &copy).expect("a copy of the binary");
            (place.program, place.user) = (copy, Some(NOBODY));
        }
        place
    }

    /// Mounts a small file system of its own at `name`. None, with the reason printed, where that is not allowed.
    pub fn small_disk(&self, name: &str, size: &str) -> Option<SmallDisk> {
        if !is_root(self.dir.path()) {
            eprintln!("skipped: only root can mount a file system of {size}");
            return None;
        }
        let path = self.path(name);
        fs::create_dir_all(&path).expect("a directory");
        let disk = SmallDisk { path };
        disk.mount(&format!("size={size}")).then_some(disk)
    }

    /// A path in it.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file in it, with the directories around it.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a path in it")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    /// The command with `args`, which are parted by spaces.
    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command.args(args.split_whitespace()).current_dir(self.dir.path());
        command.env("MILLSTREAM_HOME", self.path("home")).stdin(Stdio::null());
        command
    }

    /// Starts the command and goes on.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(&self, args: &str) -> Running {
        self.start_command(self.command(args))
    }

    /// Starts a command and goes on.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_command(&self, mut command: Command) -> Running {
        let number = self.said.fetch_add(1, Ordering::Relaxed);
        let [stdout, stderr] = ["out", "err"].map(|name| self.path(format!("said-{number}.{name}")));
        let create = |path| File::create(path).expect("a file");
        command.stdout(create(&stdout)).stderr(create(&stderr));
        Running { child: command.spawn().expect("a process"), stdout, stderr }
    }

    /// Runs the command to its end.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn run(&self, args: &str) -> Ended {
        self.start(args).wait()
    }

    /// The visible lines of an output directory.
    pub fn lines(&self, dir: &str) -> Lines {
        Lines::visible(&self.path(dir))
    }

    /// The files of an output directory.
    pub fn files(&self, dir: &str, side: Side) -> Vec<PathBuf> {
        files(&self.path(dir), side)
    }

    /// What was written with `--summary` to this file.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn summary(&self, file: &str) -> Value {
        let text = fs::read(self.path(file)).expect("a summary");
        serde_json::from_slice(&text).expect("a summary in JSON")
    }

    /// A number of the summary in `summary.json`.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn figure(&self, name: &str) -> u64 {
        self.summary("summary.json")[name].as_u64().unwrap_or_else(|| panic!("no {name} in the summary"))
    }

    /// The directories of completed checkpoints of the only job in a checkpoint directory, the oldest first.
    pub fn checkpoints(&self, dir: &str) -> Vec<(u64, PathBuf)> {
        let mut found = self.attempts(dir);
        found.retain(|(_, path)| path.join("_metadata").is_file());
        found
    }

    /// The `chk-…` directories of the only job in a checkpoint directory, completed or not, the oldest first.
    pub fn attempts(&self, dir: &str) -> Vec<(u64, PathBuf)> {
        let list = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let numbered = |path: PathBuf| {
            let number = path.file_name()?.to_str()?.strip_prefix("chk-")?.parse().ok()?;
            Some((number, path))
        };
        let mut found: Vec<_> = list(self.path(dir)).flat_map(list).filter_map(numbered).collect();
        found.sort();
        found
    }

    /// Waits for a completed checkpoint with a number above `above`, and gives its number.
    ///
    /// # Panics
    /// None comes.
    #[track_caller]
    pub fn checkpoint_above(&self, dir: &str, above: u64) -> u64 {
        wait_for("a completed checkpoint", || {
            self.checkpoints(dir).last().map(|(id, _)| *id).filter(|id| *id > above)
        })
    }

    /// The running job, once `fits` is true of it.
    ///
    /// # Panics
    /// It is not within a minute.
    #[track_caller]
    pub fn job(&self, fits: impl Fn(&Value) -> bool) -> Value {
        wait_for("a running job", || {
            let listed: Value = serde_json::from_str(&self.run("list --json").stdout).ok()?;
            listed.as_array()?.first().filter(|job| fits(job)).cloned()
        })
    }

    /// A figure of a running job as a whole, once there is one.
    pub fn metric(&self, job: &str, name: &str) -> Option<u64> {
        let told: Value = serde_json::from_str(&self.run(&format!("metrics {job} --json")).stdout).ok()?;
        let figures = told["figures"].as_array()?;
        figures.iter().find(|figure| figure["name"] == name && figure["task"].is_null())?["value"].as_u64()
    }

    /// Bytes of records in flight that completed checkpoints of this process of a job have held, those of the one that held
    /// the most; 0 too when there is nobody to be asked.
    pub fn in_flight(&self, job: &str) -> u64 {
        let told = self.run(&format!("checkpoints {job} --json")).stdout;
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        let completed = told["history"].as_array().into_iter().flatten();
        let completed = completed.filter(|checkpoint| checkpoint["status"] == "COMPLETED");
        completed.filter_map(|checkpoint| checkpoint["persisted_bytes"].as_u64()).max().unwrap_or(0)
    }

    /// Every path in it, with the content of files. What the processes said and whom they locked out is left out.
    ///
    /// # Panics
    /// A directory cannot be read.
    pub fn everything(&self) -> Everything {
        let mut found = BTreeMap::new();
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).expect("a readable directory") {
                let entry = entry.expect("an entry");
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                let left_out =
                    name.starts_with("said-") || name.ends_with(".lock") || name.ends_with(".sock");
                if path.is_dir() {
                    open.push(path.clone());
                    found.insert(path, None);
                } else if !left_out {
                    let content = fs::read(&path).ok();
                    found.insert(path, content);
                }
            }
        }
        Everything(found)
    }
}

/// What there was in a place at one moment.
#[derive(Debug)]
pub struct Everything(BTreeMap<PathBuf, Option<Vec<u8>>>);

impl Everything {
    /// It is still what there is.
    ///
    /// # Panics
    /// Something was made, changed or removed: says what.
    #[track_caller]
    pub fn is_unchanged(&self, place: &Place) {
        let now = place.everything().0;
        let all = self.0.keys().chain(now.keys());
        let changed: BTreeSet<&PathBuf> = all.filter(|path| self.0.get(*path) != now.get(*path)).collect();
        assert!(changed.is_empty(), "changed: {changed:?}");
    }
}

/// A file system in memory, mounted until this is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Gives it another size.
    ///
    /// # Panics
    /// The system refuses.
    pub fn resize(&self, size: &str) {
        assert!(self.mount(&format!("remount,size={size}")), "no other size");
    }

    fn mount(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&self.path);
        let done = mount.status().is_ok_and(|status| status.success());
        if !done {
            eprintln!("skipped: the system does not let us mount a file system");
        }
        done
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that is just being killed may still use it.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

fn is_root(own: &Path) -> bool {
    fs::metadata(own).is_ok_and(|found| found.uid() == 0)
}
