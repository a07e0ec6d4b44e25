//! Sinks that commit too early, too often, or not at all.

use crate::found_in_job;
use millstream::connector::FileSink;
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::source::Redistribution;
use millstream::{CheckpointId, ConnectorError, Env, Record, Sink};
use millstream_testkit::zoo::{OUT, RECORDS, Shelves};

/// A sink with a flaw.
#[derive(Clone)]
struct Flawed<K> {
    inner: K,
    flaw: Flaw,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Nothing,
    /// It commits what it has only prepared.
    Early,
    /// It forgets at a restore what it has prepared.
    Forgets,
    /// Its snapshot is acknowledged before its files are durable.
    Unsynced,
    /// What an aborted checkpoint has prepared is dropped. (The file sink keeps it for the next one.)
    NotHeldBack,
}

impl<K: Sink> Sink for Flawed<K> {
    type In = K::In;
    type State = K::State;

    const REDISTRIBUTION: Redistribution = K::REDISTRIBUTION;

    fn prepare(
        &mut self,
        cx: &SinkContext,
        restored: &[Self::State],
        retained: &[Self::State],
    ) -> Result<(), ConnectorError> {
        self.inner.prepare(cx, restored, retained)
    }

    fn open(&mut self, cx: SinkContext, restored: Vec<Self::State>) -> Result<(), ConnectorError> {
        self.inner.open(cx, if self.flaw == Flaw::Forgets { Vec::new() } else { restored })
    }

    fn write(&mut self, record: <Self::In as Record>::Ref<'_>) -> Result<(), ConnectorError> {
        self.inner.write(record)
    }

    fn tick(
        &mut self,
        now: millstream_io::clock::Moment,
    ) -> Result<Option<millstream_io::clock::Moment>, ConnectorError> {
        self.inner.tick(now)
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<Self::State>, ConnectorError> {
        let mut prepared = self.inner.pre_commit(epoch)?;
        match self.flaw {
            Flaw::Early => {
                if let Some(work) = prepared.work.take() {
                    work()?;
                }
                self.inner.commit(epoch.id)?;
            }
            Flaw::Unsynced => prepared.work = None,
            _ => {}
        }
        Ok(prepared)
    }

    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError> {
        self.inner.commit(id)
    }

    fn close(&mut self) -> Result<(), ConnectorError> {
        self.inner.close()
    }

    fn aborted(&mut self, id: CheckpointId) {
        // As if it had been complete: what was prepared becomes visible, and comes again after a failure.
        if self.flaw == Flaw::NotHeldBack {
            let _ = self.inner.commit(id);
        }
        self.inner.aborted(id);
    }
}

fn job(env: &Env, flaw: Flaw) {
    env.source(Shelves::new(RECORDS))
        .uid("source")
        .rebalance()
        .map(|n| n.to_string().into_bytes())
        .sink(Flawed { inner: FileSink::lines(OUT).roll_size(40), flaw })
        .uid("sink");
}

pub(crate) fn honest(env: &Env) {
    job(env, Flaw::Nothing);
}

#[test]
fn planted_a_sink_that_commits_when_it_prepares() {
    found_in_job(|env| job(env, Flaw::Early), 100);
}

#[test]
fn planted_a_sink_that_forgets_what_it_has_prepared() {
    found_in_job(|env| job(env, Flaw::Forgets), 100);
}

#[test]
fn planted_a_sink_whose_files_are_not_durable_when_it_says_so() {
    found_in_job(|env| job(env, Flaw::Unsynced), 100);
}

#[test]
fn planted_a_sink_that_commits_what_was_aborted() {
    found_in_job(|env| job(env, Flaw::NotHeldBack), 500);
}
