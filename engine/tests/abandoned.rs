//! A job that is abandoned while a subtask is in the middle of a step.

use millstream::Env;
use millstream::connector::{CollectSink, channel};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Ruling 4: the job is over, and its lock free for another start, only when its threads are gone: a step that takes its
/// time is waited for.
#[test]
fn ruling_04_an_abandoned_job_is_over_when_its_last_step_is() {
    let dir = tempfile::tempdir().unwrap();
    let env = || {
        let env = Env::new();
        env.configure(|settings| {
            settings.checkpointing.interval = Some(Duration::from_secs(600));
            settings.checkpointing.dir = Some(dir.path().to_owned());
        });
        env
    };
    let ((entered, in_step), (never, pause)) = (mpsc::sync_channel(1), mpsc::channel::<()>());
    let pause = Arc::new(Mutex::new(pause));
    let (sender, source) = channel::<u64>(16);
    let left = Arc::new(AtomicBool::new(false));
    let leaves = left.clone();
    let first = env();
    let slow = first.source(source).filter(move |_| {
        entered.send(()).unwrap();
        // Nothing comes: the time passes within the step.
        let _ = pause.lock().unwrap().recv_timeout(Duration::from_millis(300));
        leaves.store(true, Ordering::Release);
        true
    });
    slow.sink(CollectSink::new());
    let job = first.start("slow").unwrap();
    sender.send(1).unwrap();
    in_step.recv().unwrap();
    job.control().abandon().unwrap();
    assert!(job.wait().is_err());
    assert!(left.load(Ordering::Acquire), "the step was still under way");
    drop(never);
    // Nobody holds the lock any more.
    let second = env();
    second.source(channel::<u64>(1).1).sink(CollectSink::new());
    second.start("slow").unwrap().cancel().unwrap();
}
