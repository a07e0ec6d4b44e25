//! A job that is being stopped when something else happens: it ends, once (CP-33, rulings 3 and 4).

use crate::hand::Hand;
use crate::jobs::Pass;
use millstream::config::Retention;
use millstream::{Class, Env, JobState};
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::Path;
use std::sync::Arc;

const EIO: i32 = 5;

/// A job that was told to stop: the snapshots of its last checkpoint are written, and its metadata is not yet.
fn stopping(env: &Env, disk: &FaultStorage) -> Hand {
    let mut hand = Hand::begin(env, disk);
    hand.run_all();
    hand.stop();
    hand.acknowledge();
    assert_eq!((hand.control.metrics().state, hand.waiting()), (JobState::Stopping, 1));
    hand
}

fn storage() -> FaultStorage {
    FaultStorage::new(Arc::new(MemoryStorage::new()))
}

/// CP-33: the last checkpoint becomes durable after a subtask has failed. The job does not go on from it, for it was
/// told to stop, and what is not committed yet is committed by the next start.
#[test]
fn cp_33_a_subtask_that_fails_while_the_last_checkpoint_is_stored_is_not_restarted() {
    let (disk, job) = (storage(), Pass::new(3));
    job.source.allow(2);
    let mut hand = stopping(&job.env(), &disk);
    hand.fail("in");
    assert!(!hand.is_over(), "it is to be seen whether the checkpoint becomes durable");
    hand.work();
    hand.turn();
    let error = hand.outcome().unwrap_err();
    assert_eq!(error.class(), Class::Fatal);
    let text = error.to_string();
    assert!(
        text.contains("chk-1 is complete, but may not be fully committed") && text.contains("by hand"),
        "{text}"
    );
    assert!(job.seen.is_empty());

    let hand = Hand::begin(&job.env(), &disk);
    assert_eq!(job.source.opened(), "[0] [2]", "the first start, and the one that goes on");
    assert_eq!(job.seen.take(), [1, 2]);
    job.source.end();
    assert_eq!(hand.finish().unwrap().records_in, 3);
    assert_eq!(job.seen.take(), [3]);
}

/// Before that the stop has failed, and with it the job: it is not restarted and ends once.
#[test]
fn cp_33_a_subtask_that_fails_before_the_last_checkpoint_is_stored_ends_the_stop() {
    let (disk, job) = (storage(), Pass::new(3));
    let mut hand = Hand::begin(&job.env(), &disk);
    hand.stop();
    hand.fail("in");
    let metrics = hand.control.metrics();
    assert_eq!((metrics.state, metrics.restarts), (JobState::Failed, 0));
    let error = hand.outcome().unwrap_err();
    assert!(error.what() == "stop" && error.cause().to_string().contains("failed by hand"), "{error}");
}

/// MS-070: a storage that panics while a checkpoint's metadata is published leaves nobody waiting. Whether the checkpoint
/// is complete nobody knows, so the job ends, and the next start goes on from what is there.
#[test]
fn ms_070_a_panic_while_a_checkpoint_is_published_ends_the_job() {
    let (disk, job) = (storage(), Pass::new(3));
    job.source.allow(2);
    let mut hand = Hand::begin(&job.env(), &disk);
    hand.run_all();
    hand.trigger();
    hand.run_all();
    hand.work();
    disk.fail_every(Op::Publish, Some(Fault::Panic));
    hand.settle();
    let error = hand.outcome().unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.class()),
        ("checkpoint: 1: panicked: the storage panics", Class::Fatal)
    );
    assert!(job.seen.is_empty());
    disk.fail_every(Op::Publish, None);
    let hand = Hand::begin(&job.env(), &disk);
    job.source.end();
    hand.finish().unwrap();
    assert_eq!(job.seen.take(), [1, 2, 3]);
}

/// MS-070: one that panics while old checkpoints are deleted does not hold back new ones.
#[test]
fn ms_070_a_panic_while_checkpoints_are_deleted_holds_back_nothing() {
    let (disk, job) = (storage(), Pass::new(3));
    let mut hand = Hand::begin(&job.env(), &disk);
    hand.run_all();
    hand.checkpoint();
    disk.fail_every(Op::RemoveDir, Some(Fault::Panic));
    for _ in 0..5 {
        hand.checkpoint();
    }
}

/// A cancellation goes before a stop that is under way. Its end is put on record once, while the directory is held.
#[test]
fn a_job_that_is_cancelled_while_it_stops_ends_once() {
    let (disk, job) = (storage(), Pass::new(3));
    let env = job.env();
    env.configure(|settings| settings.checkpointing.retention = Retention::NoExternalizedCheckpoints);
    let mut hand = Hand::begin(&env, &disk);
    hand.stop();
    disk.record();
    hand.control.cancel().unwrap();
    hand.turn();
    assert_eq!(hand.outcome().unwrap().state, JobState::Canceled);
    let lineage = Path::new("lineage").as_os_str();
    let recorded = disk
        .log()
        .iter()
        .filter(|(_, op, path)| *op == Op::Publish && path.file_name() == Some(lineage))
        .count();
    assert_eq!(recorded, 1);
}

/// The one failure of a store that no restart may follow, for nobody knows whether the checkpoint is there: the job
/// ends, and the checkpoint counts as failed, once, and not as one in progress.
#[test]
fn a_checkpoint_of_which_nobody_knows_whether_it_is_there_ends_the_job() {
    let (disk, job) = (storage(), Pass::new(3));
    let mut hand = Hand::begin(&job.env(), &disk);
    hand.trigger();
    disk.fail_every(Op::Publish, Some(Fault::After(EIO)));
    disk.fail_every(Op::Remove, Some(Fault::Before(EIO)));
    hand.settle();
    let metrics = hand.control.metrics();
    let counts = metrics.checkpoints.counts();
    assert_eq!((counts.total, counts.failed, counts.in_progress), (1, 1, 0));
    assert_eq!((metrics.state, metrics.restarts), (JobState::Failed, 0));
    assert_eq!(hand.outcome().unwrap_err().class(), Class::Fatal);
}

/// A stop that comes when the subtasks have been told to finish has nothing left to stop: the job is finished.
#[test]
fn a_stop_that_comes_while_the_job_finishes_changes_nothing() {
    let (disk, job) = (storage(), Pass::new(2));
    job.source.allow(2);
    let mut hand = Hand::begin(&job.env(), &disk);
    job.source.end();
    for _ in 0..20 {
        if hand.completed().is_none() {
            hand.acknowledge();
        }
    }
    assert_eq!(hand.completed().map(|id| id.0), Some(1), "the last checkpoint is there");
    hand.stop();
    assert_eq!(hand.finish().unwrap().state, JobState::Finished);
    assert_eq!(job.seen.take(), [1, 2]);
}

/// Ruling 4: between two attempts there is nothing to snapshot and nothing new to commit. The stop does not wait for the
/// next attempt, which may be far off: the job ends at once with the checkpoint that is there.
#[test]
fn ruling_04_a_stop_between_two_attempts_ends_with_the_newest_checkpoint() {
    for keep in [false, true] {
        let (disk, job) = (storage(), Pass::new(5));
        let mut hand = Hand::begin(&job.env(), &disk);
        job.source.allow(2);
        hand.run_all();
        hand.checkpoint();
        job.source.allow(3);
        hand.run_all();
        hand.fail("in");
        assert_eq!(hand.control.metrics().state, JobState::Restarting);
        if keep { hand.control.stop_and_keep() } else { hand.control.stop() }.unwrap();
        hand.turn();
        let summary = hand.outcome().unwrap();
        let id = summary.job_id;
        assert_eq!((summary.state, summary.records_in, summary.restarts), (JobState::Stopped, 2, 1));
        assert_eq!(summary.last_checkpoint.unwrap().path, Path::new("/ck").join(&id).join("chk-1"));
        assert_eq!(job.seen.take(), [1, 2]);

        let mut hand = Hand::begin(&job.env(), &disk);
        assert_eq!(job.source.opened(), "[0] [2]");
        hand.settle();
        hand.checkpoint();
        let stays = disk.stat(&Path::new("/ck").join(&id).join("chk-1")).is_ok();
        assert!(!stays, "it is one of the line, which goes on: no final one, which would be the user's");
        job.source.end();
        hand.finish().unwrap();
        assert_eq!(job.seen.take(), [3, 4, 5]);
    }
}

/// CP-21: a checkpoint that is being stored at that moment may be the newest, and is waited for.
#[test]
fn ruling_04_a_stop_between_two_attempts_waits_for_a_checkpoint_that_is_being_stored() {
    let (disk, job) = (storage(), Pass::new(5));
    let mut hand = Hand::begin(&job.env(), &disk);
    job.source.allow(3);
    hand.run("in");
    hand.trigger();
    hand.acknowledge();
    hand.fail("in");
    hand.stop();
    assert!(!hand.is_over(), "the metadata is not there yet");
    hand.work();
    hand.turn();
    let summary = hand.outcome().unwrap();
    assert_eq!((summary.state, summary.records_in), (JobState::Stopped, 3));
    assert_eq!(summary.last_checkpoint.unwrap().id.0, 1);
    assert!(job.seen.is_empty());
    // What the failed attempt could not commit the next start does.
    let hand = Hand::begin(&job.env(), &disk);
    assert_eq!(job.seen.take(), [1, 2, 3]);
    job.source.end();
    hand.finish().unwrap();
    assert_eq!(job.seen.take(), [4, 5]);
}

/// Nothing was completed: the next start begins where this one did.
#[test]
fn ruling_04_a_stop_between_two_attempts_without_a_checkpoint_keeps_none() {
    let (disk, job) = (storage(), Pass::new(2));
    let mut hand = Hand::begin(&job.env(), &disk);
    hand.fail("in");
    hand.control.stop_and_keep().unwrap();
    hand.turn();
    let summary = hand.outcome().unwrap();
    assert_eq!((summary.state, summary.last_checkpoint), (JobState::Stopped, None));
    let hand = Hand::begin(&job.env(), &disk);
    assert_eq!(hand.start, "starting without state (no completed checkpoint)");
}

/// A checkpoint that becomes durable beside a cancel supersedes the one before: the summary names the one that is there.
#[test]
fn a_cancelled_job_reports_the_checkpoint_that_is_there() {
    let (disk, job) = (storage(), Pass::new(5));
    let env = job.env();
    env.configure(|settings| settings.checkpointing.retention = Retention::RetainOnCancellation);
    let mut hand = Hand::begin(&env, &disk);
    job.source.allow(2);
    hand.run_all();
    assert_eq!(hand.checkpoint().0, 1);
    hand.trigger();
    hand.acknowledge();
    hand.control.cancel().unwrap();
    // The metadata of the second one is published before the cancel is looked at, and heard of behind it.
    hand.work();
    hand.turn();
    let summary = hand.outcome().unwrap();
    assert_eq!(summary.state, JobState::Canceled);
    let told = summary.last_checkpoint.unwrap();
    assert_eq!(told.id.0, 2);
    assert!(disk.open(&told.path.join("_metadata")).is_ok());
}

/// Ruling 4: so does one that is abandoned because it has not ended in time, and its records count as of that one.
#[test]
fn ruling_04_an_abandoned_job_reports_the_checkpoint_that_is_there() {
    let (disk, job) = (storage(), Pass::new(5));
    let mut hand = Hand::begin(&job.env(), &disk);
    job.source.allow(2);
    hand.run_all();
    assert_eq!(hand.checkpoint().0, 1);
    job.source.allow(4);
    hand.run_all();
    hand.trigger();
    hand.acknowledge();
    hand.control.abandon().unwrap();
    // As above; what is durable is not committed any more.
    hand.work();
    hand.turn();
    let control = hand.control.clone();
    assert!(hand.outcome().is_err());
    let told = control.metrics();
    assert_eq!(told.last_checkpoint.map(|last| last.id.0), Some(2));
    assert_eq!((told.records_in, told.records_out), (4, 2));
}
