//! The two ways to stop a job, and a stop whose final checkpoint fails.

use millstream::connector::{CollectSink, Sender, channel};
use millstream::storage::{DiskStorage, remove_tree};
use millstream::{CheckpointId, Class, ConnectorError, Env, Error, JobControl, JobState, Sink, sink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A sink that cannot make its results durable where the job is to end.
#[derive(Clone)]
struct FullDisk;

impl Sink for FullDisk {
    type In = u64;
    type State = u64;

    fn open(&mut self, _: sink::SinkContext, _: Vec<u64>) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn write(&mut self, _: u64) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn pre_commit(&mut self, epoch: sink::Epoch) -> Result<sink::PreCommit<u64>, ConnectorError> {
        let full =
            || Err(ConnectorError::new(Class::Restart, "sync", "/out/part-0", "no space left on device"));
        Ok(sink::PreCommit {
            state: Vec::new(),
            work: epoch.close.then(|| Box::new(full) as sink::DurableWork),
        })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        Ok(())
    }
}

/// MS-078: the stop says why it failed; that one failed checkpoint is more than the job tolerates is not a second end.
#[test]
fn ms_078_a_stop_that_fails_ends_the_job_once_and_says_why() {
    let env = Env::new();
    env.configure(|s| s.checkpointing.interval = Some(Duration::from_secs(600)));
    let (_feed, source) = channel::<u64>(1);
    env.source(source).sink(FullDisk);
    let job = env.start("stop on a full disk").unwrap();
    let control = job.control();
    // Taken as soon as all subtasks run; before that a stop is refused for another reason.
    while job.checkpoint().is_err() {
        std::thread::yield_now();
    }
    let error = job.stop().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no space left on device") && text.contains("/out/part-0"), "{text}");
    assert!(!text.contains("tolerable-failed-checkpoints"), "{text}");
    let metrics = control.metrics();
    assert_eq!((metrics.state, metrics.restarts), (JobState::Failed, 0));
}

/// A job that goes on until it is stopped, with checkpoints in `dir`. The sender feeds it.
fn open_end(dir: &Path) -> (Env, Sender<u64>, CollectSink<u64>) {
    let env = Env::new();
    env.configure(|s| {
        s.checkpointing.interval = Some(Duration::from_secs(600));
        s.checkpointing.dir = Some(dir.to_owned());
    });
    let (feed, source) = channel::<u64>(10);
    let sink = CollectSink::new();
    env.source(source).uid("source").sink(sink.clone()).uid("sink");
    (env, feed, sink)
}

/// Runs until a first checkpoint, then stops as `stop` says; the directory of the final one.
fn stopped(dir: &Path, stop: impl Fn(&JobControl) -> Result<(), Error>) -> PathBuf {
    let (env, _feed, _) = open_end(dir);
    let job = env.start("open").unwrap();
    while job.checkpoint().is_err() {
        std::thread::yield_now();
    }
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
        while job.checkpoint().is_err() {
            std::thread::yield_now();
        }
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
