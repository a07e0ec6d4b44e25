//! A sink that takes its time.

use millstream::config::parse_duration;
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::source::Redistribution;
use millstream::{CheckpointId, ConnectorError, Record, Sink};
use millstream_cli::clap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// How long what takes.
#[derive(clap::Args, Clone)]
pub(crate) struct Pauses {
    /// Pause for every record that is written.
    #[arg(long, default_value = "0ms", value_parser = parse_duration)]
    delay: Duration,
    /// Pause before every commit.
    #[arg(long, default_value = "0ms", value_parser = parse_duration)]
    commit_delay: Duration,
    /// File that tells of barriers and commits, a line for each.
    #[arg(long)]
    log: Option<PathBuf>,
}

/// A sink that pauses, and tells what it is asked to do.
#[derive(Clone)]
pub(crate) struct Slow<S> {
    sink: S,
    pauses: Pauses,
}

impl<S> Slow<S> {
    pub(crate) fn new(sink: S, pauses: &Pauses) -> Self {
        Self { sink, pauses: pauses.clone() }
    }

    fn tell(&self, what: &str, id: CheckpointId) {
        let Some(log) = &self.pauses.log else { return };
        let mut file = OpenOptions::new().create(true).append(true).open(log).expect("a log");
        file.write_all(format!("{what} {id}\n").as_bytes()).expect("room for a log");
    }
}

/// Not at all where there is no pause: even the shortest sleep takes a while.
fn pause(time: Duration) {
    if !time.is_zero() {
        thread::sleep(time);
    }
}

impl<S: Sink> Sink for Slow<S> {
    type In = S::In;
    type State = S::State;

    const REDISTRIBUTION: Redistribution = S::REDISTRIBUTION;

    fn prepare(
        &mut self,
        cx: &SinkContext,
        restored: &[S::State],
        retained: &[S::State],
    ) -> Result<(), ConnectorError> {
        self.sink.prepare(cx, restored, retained)
    }

    fn open(&mut self, cx: SinkContext, restored: Vec<S::State>) -> Result<(), ConnectorError> {
        self.sink.open(cx, restored)
    }

    fn write(&mut self, record: <S::In as Record>::Ref<'_>) -> Result<(), ConnectorError> {
        pause(self.pauses.delay);
        self.sink.write(record)
    }

    fn tick(&mut self, now: Duration) -> Result<Option<Duration>, ConnectorError> {
        self.sink.tick(now)
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<S::State>, ConnectorError> {
        self.tell("barrier", epoch.id);
        self.sink.pre_commit(epoch)
    }

    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError> {
        pause(self.pauses.commit_delay);
        self.tell("commit", id);
        self.sink.commit(id)
    }

    fn close(&mut self) -> Result<(), ConnectorError> {
        self.sink.close()
    }

    fn discard(&mut self, cx: &SinkContext, kept: &[S::State]) -> Result<(), ConnectorError> {
        self.sink.discard(cx, kept)
    }

    fn aborted(&mut self, id: CheckpointId) {
        self.sink.aborted(id);
    }
}
