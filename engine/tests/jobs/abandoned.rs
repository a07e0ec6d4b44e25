//! A job that is abandoned while a subtask is in the middle of a step, or background work in the middle of its own.

use crate::common::Discard;
use crate::set_up::env;
use millstream::connector::{CollectSink, channel};
use millstream::runtime::Abandoned;
use millstream::{Class, Env};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Ruling 4: the job is over, and its lock free for another start, only when its threads are gone: a step that takes its
/// time is waited for.
#[test]
fn ruling_04_an_abandoned_job_is_over_when_its_last_step_is() {
    let dir = tempfile::tempdir().unwrap();
    let ((entered, in_step), (never, pause)) = (mpsc::sync_channel(1), mpsc::channel::<()>());
    let pause = Arc::new(Mutex::new(pause));
    let (sender, source) = channel::<u64>(16);
    let left = Arc::new(AtomicBool::new(false));
    let leaves = left.clone();
    let first = env(dir.path());
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
    let second = env(dir.path());
    second.source(channel::<u64>(1).1).sink(CollectSink::new());
    second.start("slow").unwrap().cancel().unwrap();
}

/// Ruling 4: so is background work, which would write into the directory of a checkpoint that the next start removes.
#[test]
fn ruling_04_an_abandoned_job_is_over_when_its_background_work_is() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(dir.path());
    let ((begun, in_work), (_never, pause)) = (mpsc::sync_channel(1), mpsc::channel::<()>());
    let (pause, done) = (Arc::new(Mutex::new(pause)), Arc::new(AtomicBool::new(false)));
    let is_done = done.clone();
    // Makes a checkpoint's files durable in its own time.
    let slow_to_sync = Discard::new(move |_| {
        let (begun, pause, done) = (begun.clone(), pause.clone(), is_done.clone());
        Some(Box::new(move || {
            begun.send(()).unwrap();
            // Nothing comes: the time passes within the work.
            let _ = pause.lock().unwrap().recv_timeout(Duration::from_millis(300));
            done.store(true, Ordering::Release);
            Ok(())
        }))
    });
    let (_sender, source) = channel::<u64>(16);
    env.source(source).sink(slow_to_sync);
    let job = env.start("slow").unwrap();
    let request = job.control().request_checkpoint(false).unwrap();
    in_work.recv().unwrap();
    job.control().abandon().unwrap();
    let error = job.wait().unwrap_err();
    assert!(error.cause().is::<Abandoned>() && request.wait().is_err(), "{error}");
    assert!(done.load(Ordering::Acquire), "the work was still under way");
}

/// By its name a job finds its checkpoints.
#[test]
fn a_job_without_a_name_is_refused() {
    for name in ["", " ", "\t"] {
        let env = Env::new();
        env.source(channel::<u64>(1).1).sink(CollectSink::new());
        let error = env.start(name).err().expect("refused");
        assert_eq!((error.class(), error.at()), (Class::Refuse, "job name"));
    }
}
