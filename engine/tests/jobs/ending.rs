//! The end of a job: what comes before it is on record.

use crate::set_up;
use millstream::connector::{CollectSink, Collection};
use millstream::storage::{DiskStorage, Storage, read_all};
use millstream::{Class, Env, Error, JobId, JobState};
use std::path::Path;
use std::sync::mpsc::channel;

fn job(dir: &Path, sink: CollectSink<u64>) -> Env {
    let env = set_up::env(dir);
    env.source(Collection::new(vec![1u64, 2, 3])).sink(sink);
    env
}

/// Whether a completed checkpoint of the job is there.
fn checkpointed(dir: &Path) -> bool {
    let job = dir.join(JobId::of("three").to_string());
    let entries = std::fs::read_dir(job).unwrap();
    entries.filter_map(Result::ok).any(|entry| entry.path().join("_metadata").exists())
}

/// Ruling 2: until the end is concluded the job is one that goes on from its final checkpoint; then it is over.
#[test]
fn ruling_02_a_finished_job_is_concluded_before_its_end_is_on_record() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let env = job(dir.path(), sink.clone());
    let (tell, told) = channel();
    let root = dir.path().to_owned();
    env.before_end(move |ending| {
        let before = checkpointed(&root);
        let summary = ending.summary().clone();
        let over = ending.complete()?;
        tell.send((summary, before, checkpointed(&root))).unwrap();
        Ok(over)
    });
    let summary = env.execute("three").unwrap();
    let (concluded, before, after) = told.try_recv().unwrap();
    assert!(before && !after);
    assert_eq!((concluded.state, concluded.records_out), (JobState::Finished, 3));
    assert_eq!((concluded.last_checkpoint, summary.last_checkpoint), (None, None));
    assert_eq!(sink.collected().take(), [1, 2, 3]);
    // A new run, which says so.
    let again = job(dir.path(), CollectSink::new()).start("three").unwrap();
    assert!(again.start_line().contains("new run"), "{}", again.start_line());
    again.wait().unwrap();
}

/// What cannot be concluded is not over: the next start has nothing left to process, and concludes again.
#[test]
fn ruling_02_an_end_that_cannot_be_concluded_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let env = job(dir.path(), sink.clone());
    env.before_end(|_| Err(Error::new(Class::Fatal, "write report", "printer", "no paper")));
    let started = env.start("three").unwrap();
    let control = started.control();
    let error = started.wait().unwrap_err();
    assert_eq!(error.to_string(), "write report: printer: no paper");
    assert!(checkpointed(dir.path()));
    let metrics = control.metrics();
    assert_eq!(metrics.state, JobState::Failed);
    assert!(metrics.last_checkpoint.is_some());

    let env = job(dir.path(), sink.clone());
    let (tell, told) = channel();
    env.before_end(move |ending| {
        tell.send(ending.summary().records_out).unwrap();
        ending.complete()
    });
    let again = env.start("three").unwrap();
    assert!(again.start_line().starts_with("resuming from"), "{}", again.start_line());
    let summary = again.wait().unwrap();
    assert_eq!((summary.records_in, told.try_recv()), (3, Ok(3)));
    assert_eq!(sink.collected().take(), [1, 2, 3]);
}

/// A process that was killed before its end was complete: what is left to say is said, nothing is read or written again,
/// and nothing that the job needs to run has to be there.
#[test]
fn ruling_02_a_finish_that_nobody_was_told_of_is_concluded() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let env = job(dir.path(), sink.clone());
    let (root, (tell, told)) = (dir.path().to_owned(), channel());
    env.before_end(move |ending| {
        tell.send(to_tell(&root)).unwrap();
        ending.complete()
    });
    env.execute("three").unwrap();
    // As it was right before the last step of the end.
    let (name, metadata) = told.try_recv().unwrap();
    let kept = dir.path().join(JobId::of("three").to_string()).join(name);
    DiskStorage::new().publish(&kept, &metadata).unwrap();

    let unread = CollectSink::new();
    let env = job(dir.path(), unread.clone());
    let (tell, told) = channel();
    env.before_end(move |ending| {
        tell.send(ending.summary().clone()).unwrap();
        ending.complete()
    });
    let again = env.start("three").unwrap();
    assert!(again.start_line().starts_with("resuming from"), "{}", again.start_line());
    let summary = again.wait().unwrap();
    assert_eq!((summary.state, summary.records_in, summary.records_out), (JobState::Finished, 3, 3));
    assert_eq!((summary.records_replayed, summary.checkpoints_completed), (0, 0));
    assert!(summary.restored_from.is_some());
    assert_eq!(told.try_recv().unwrap().records_in, 3);
    assert_eq!(unread.collected().take(), []);
    assert!(!checkpointed(dir.path()));
    let third = job(dir.path(), CollectSink::new()).start("three").unwrap();
    assert!(third.start_line().contains("new run"), "{}", third.start_line());
    third.wait().unwrap();
}

/// The metadata of the job's completed checkpoint, and the name under which it is kept until the end was told.
fn to_tell(dir: &Path) -> (String, Vec<u8>) {
    let job = dir.join(JobId::of("three").to_string());
    let entries = std::fs::read_dir(job).unwrap().filter_map(Result::ok);
    let one = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        let metadata = read_all(&DiskStorage::new(), &entry.path().join("_metadata")).ok()?;
        Some((format!(".finished-{}", name.strip_prefix("chk-")?), metadata))
    });
    one.last().expect("a completed checkpoint")
}

/// A job that is cancelled has no end to conclude.
#[test]
fn a_cancelled_job_is_not_concluded() {
    let env = Env::new();
    let (_feed, source) = millstream::connector::channel::<u64>(1);
    env.source(source).sink(CollectSink::new());
    let (tell, told) = channel();
    env.before_end(move |ending| {
        tell.send(()).unwrap();
        ending.complete()
    });
    assert_eq!(env.start("cancelled").unwrap().cancel().unwrap().state, JobState::Canceled);
    assert!(told.try_recv().is_err());
}
