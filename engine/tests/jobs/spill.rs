//! What is held back in files while a barrier is aligned: in real files, and on threads.

use millstream::config::{ByteSize, TaskThreads};
use millstream::connector::{CollectSink, Collected, Sender, channel};
use millstream::{Env, JobHandle};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Where the process that is killed has its files.
const DIR: &str = "MILLSTREAM_TEST_SPILL_DIR";

/// Numbers that meet others, whose way is blocked from the first one on.
struct Blocked {
    job: JobHandle,
    fast: Sender<u64>,
    /// Lets the others go.
    release: mpsc::Sender<()>,
    seen: Collected<u64>,
}

/// A job that holds nothing to speak of back in memory, with its files in `local`.
fn blocked(local: &Path) -> Blocked {
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_millis(10));
        settings.checkpointing.alignment_memory = ByteSize::kb(64);
        // What has been seen is state of the sink.
        settings.checkpointing.memory_max_state = ByteSize::mb(64);
        settings.task.threads = TaskThreads::PerSubtask;
        settings.task.local_dir = Some(local.to_owned());
    });
    let ((fast, source), (slow, slow_source)) = (channel::<u64>(1 << 10), channel::<u64>(1));
    let (release, pause) = mpsc::channel::<()>();
    let pause = Arc::new(Mutex::new(Some(pause)));
    let slowed = env.source(slow_source).uid("slow").rebalance().filter(move |_| {
        if let Some(pause) = pause.lock().unwrap().take() {
            let _ = pause.recv();
        }
        true
    });
    let sink = CollectSink::new();
    let seen = sink.collected();
    env.source(source).uid("fast").union(slowed).uid("both").sink(sink).uid("out");
    let job = env.start("blocked").unwrap();
    slow.send(u64::MAX).unwrap();
    Blocked { job, fast, release, seen }
}

/// How many files this process has mapped that are or were in `dir`. None of them has a name any more.
fn mapped(pid: &str, dir: &Path) -> usize {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let name = dir.join(".millstream-").display().to_string();
    let files: Vec<&str> = maps.lines().filter(|line| line.contains(&name)).collect();
    assert!(files.iter().all(|line| line.ends_with(".scratch (deleted)")), "{files:?}");
    files.len()
}

/// 20 MB behind a barrier, of which 64 KiB are held in memory: they are in files, which have no names at any time, and come
/// in their order when the barrier has come.
#[test]
fn br_04_files_have_no_names_and_are_read_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let Blocked { job, fast, release, seen } = blocked(dir.path());
    let mut sent = 0;
    while mapped("self", dir.path()) < 5 {
        for _ in 0..10_000 {
            fast.send(sent).unwrap();
            sent += 1;
        }
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    release.send(()).unwrap();
    drop(fast);
    job.wait().unwrap();
    let mut numbers = seen.take();
    numbers.retain(|n| *n != u64::MAX);
    assert!(numbers.into_iter().eq(0..sent));
    assert_eq!(mapped("self", dir.path()), 0);
}

/// Not a test of its own: the process that the next one kills.
#[test]
fn a_process_with_files() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let Blocked { fast, .. } = &blocked(Path::new(&dir));
    (0..u64::MAX - 1).for_each(|n| fast.send(n).unwrap());
}

/// Killed when this is dropped, however the test ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// MS-029 for what is held back: a kill leaves no file behind.
#[test]
fn ms_029_a_kill_while_records_are_held_in_files_leaves_none() {
    let dir = tempfile::tempdir().unwrap();
    let process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "spill::a_process_with_files"])
        .env(DIR, dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = process.id().to_string();
    let mut process = Process(process);
    while mapped(&pid, dir.path()) < 3 {
        assert!(process.0.try_wait().unwrap().is_none(), "it goes on until it is killed");
        std::thread::yield_now();
    }
    drop(process);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
