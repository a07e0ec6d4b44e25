//! Without checkpoints output is committed once, at the end, and by all subtasks or by none.

use millstream::config::RestartKind;
use millstream::connector::Generator;
use millstream::{CheckpointId, Class, ConnectorError, Env, Sink, sink};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Fails in subtask 1, before the commit or in it.
#[derive(Clone)]
struct Failing {
    in_commit: bool,
    subtask: usize,
    committed: Arc<AtomicUsize>,
    /// Nobody's commit fails before the other one has committed.
    both: Arc<Barrier>,
}

impl Failing {
    fn new(in_commit: bool) -> Self {
        Self { in_commit, subtask: 0, committed: Arc::default(), both: Arc::new(Barrier::new(2)) }
    }

    fn full(&self) -> Result<(), ConnectorError> {
        let full = ConnectorError::new(Class::Restart, "close", "part-1", "no space left on device");
        if self.subtask == 1 { Err(full) } else { Ok(()) }
    }
}

impl Sink for Failing {
    type In = u64;
    type State = u64;
    fn open(&mut self, cx: sink::SinkContext, _: Vec<u64>) -> Result<(), ConnectorError> {
        self.subtask = cx.subtask;
        Ok(())
    }
    fn write(&mut self, _: u64) -> Result<(), ConnectorError> {
        Ok(())
    }
    fn pre_commit(&mut self, _: sink::Epoch) -> Result<sink::PreCommit<u64>, ConnectorError> {
        if !self.in_commit {
            self.full()?;
        }
        Ok(sink::PreCommit { state: Vec::new(), work: None })
    }
    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        if self.subtask == 0 {
            self.committed.fetch_add(1, Ordering::Relaxed);
        }
        if self.in_commit {
            self.both.wait();
        }
        self.full()
    }
}

/// Runs it under a strategy that would restart it; returns the error and how often subtask 0 has committed.
fn run(sink: Failing) -> (millstream::Error, usize) {
    let committed = Arc::clone(&sink.committed);
    let env = Env::new();
    env.configure(|settings| {
        settings.restart.kind = RestartKind::FixedDelay;
        settings.restart.fixed_delay.attempts = 2;
        settings.restart.fixed_delay.delay = Duration::from_millis(1);
    });
    env.source(Generator::new(1000, |i| i)).parallelism(2).sink(sink);
    let error = env.execute("without").unwrap_err();
    (error, committed.load(Ordering::Relaxed))
}

#[test]
fn ruling_07_nobody_commits_when_one_subtask_cannot_write_its_part() {
    let (error, committed) = run(Failing::new(false));
    assert!(error.to_string().contains("no space left on device"), "{error}");
    assert_eq!(committed, 0);
}

#[test]
fn ruling_07_a_commit_that_fails_half_way_is_not_tried_again_from_the_beginning() {
    let (error, committed) = run(Failing::new(true));
    assert!(error.hint().is_some_and(|hint| hint.contains("remove it before you start")), "{error:?}");
    assert_eq!(committed, 1);
}
