//! The two ways to stop a job, and a stop whose final checkpoint fails.

use crate::common::Discard;
use crate::set_up::{self, checkpoint};
use millstream::connector::{CollectSink, Sender, channel};
use millstream::sink::DurableWork;
use millstream::storage::{DiskStorage, remove_tree};
use millstream::{Class, ConnectorError, Env, Error, JobControl, JobState};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// MS-078: the stop says why it failed; that one failed checkpoint is more than the job tolerates is not a second end.
#[test]
fn ms_078_a_stop_that_fails_ends_the_job_once_and_says_why() {
    let env = Env::new();
    env.configure(|s| s.checkpointing.interval = Some(Duration::from_secs(600)));
    let (_feed, source) = channel::<u64>(1);
    // What it has written cannot be made durable where the job is to end.
    let full = || Err(ConnectorError::new(Class::Restart, "sync", "/out/part-0", "no space left on device"));
    env.source(source).sink(Discard::new(move |epoch| epoch.close.then(|| Box::new(full) as DurableWork)));
    let job = env.start("stop on a full disk").unwrap();
    let control = job.control();
    // Before all subtasks run a stop is refused for another reason.
    checkpoint(&job);
    let error = job.stop().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no space left on device") && text.contains("/out/part-0"), "{text}");
    assert!(!text.contains("tolerable-failed-checkpoints"), "{text}");
    let metrics = control.metrics();
    assert_eq!((metrics.state, metrics.restarts), (JobState::Failed, 0));
}

/// A job that goes on until it is stopped, with checkpoints in `dir`. The sender feeds it.
fn open_end(dir: &Path) -> (Env, Sender<u64>, CollectSink<u64>) {
    let env = set_up::env(dir);
    let (feed, source) = channel::<u64>(10);
    let sink = CollectSink::new();
    env.source(source).uid("source").sink(sink.clone()).uid("sink");
    (env, feed, sink)
}

/// Runs until a first checkpoint, then stops as `stop` says; the directory of the final one.
fn stopped(dir: &Path, stop: impl Fn(&JobControl) -> Result<(), Error>) -> PathBuf {
    let (env, _feed, _) = open_end(dir);
    let job = env.start("open").unwrap();
    checkpoint(&job);
    stop(&job.control()).unwrap();
    let summary = job.wait().unwrap();
    assert_eq!(summary.state, JobState::Stopped);
    summary.last_checkpoint.unwrap().path
}

/// Rulings 3 and 4: what the next run begins with is the same; but what a stop has given to the user stays, while what a
/// suspend has left goes with the line that goes on.
#[test]
fn ruling_03_04_a_stop_keeps_its_checkpoint_and_a_suspend_goes_on_in_its_line() {
    for keep in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let stop = |control: &JobControl| if keep { control.stop_and_keep() } else { control.stop() };
        let first = stopped(dir.path(), stop);
        let (env, _feed, _) = open_end(dir.path());
        let job = env.start("open").unwrap();
        assert_eq!(job.start_line(), format!("resuming from {}", first.display()));
        // One more checkpoint, of which one is retained.
        checkpoint(&job);
        let second = job.stop().unwrap().last_checkpoint.unwrap().path;
        assert_ne!(first, second);
        assert!(second.join("_metadata").exists());
        assert_eq!(first.join("_metadata").exists(), keep, "keep: {keep}");
    }
}

/// Ruling 3: a start after a stop whose checkpoint is gone is refused, and says how to go on.
#[test]
fn ruling_03_a_start_after_a_stop_whose_checkpoint_is_gone_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let kept = stopped(dir.path(), JobControl::stop_and_keep);
    remove_tree(&DiskStorage::new(), &kept).unwrap();
    let (env, _feed, _) = open_end(dir.path());
    let error = env.start("open").err().unwrap();
    assert_eq!(error.class(), Class::Refuse);
    assert!(error.to_string().contains(&*kept.to_string_lossy()), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("-s PATH") && hint.contains("--fresh"), "{hint}");
}
