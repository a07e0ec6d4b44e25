//! A stop whose final checkpoint fails.

use millstream::connector::channel;
use millstream::{CheckpointId, Class, ConnectorError, Env, JobState, Sink, sink};
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
