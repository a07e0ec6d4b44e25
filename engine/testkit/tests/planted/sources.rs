//! Sources that do not know where they were.

use crate::found_in_job;
use millstream::connector::FileSink;
use millstream::source::{Poll, Redistribution, Source, SourceContext};
use millstream::{ConnectorError, Emit, Env};
use millstream_testkit::zoo::{OUT, RECORDS, Shelves};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Nothing,
    /// It goes on one record too late.
    Ahead,
    /// It goes on one record too early.
    Behind,
    /// Its snapshot is that of the barrier before.
    Stale,
}

#[derive(Clone)]
struct Flawed {
    inner: Shelves,
    flaw: Flaw,
    last: Option<Vec<(u64, u64)>>,
}

impl Source for Flawed {
    type Out = u64;
    type Split = (u64, u64);

    const REDISTRIBUTION: Redistribution = Redistribution::EvenSplit;

    fn discover(&mut self, cx: &SourceContext) -> Result<Vec<(u64, u64)>, ConnectorError> {
        self.inner.discover(cx)
    }

    fn check(
        &mut self,
        _: &SourceContext,
        mut splits: Vec<(u64, u64)>,
        _: bool,
    ) -> Result<Vec<(u64, u64)>, ConnectorError> {
        // Called at a restore, and not at a fresh start.
        for (at, end) in &mut splits {
            match self.flaw {
                Flaw::Ahead => *at = (*at + 1).min(*end),
                Flaw::Behind => *at = at.saturating_sub(1),
                Flaw::Nothing | Flaw::Stale => {}
            }
        }
        Ok(splits)
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<(u64, u64)>) -> Result<(), ConnectorError> {
        self.inner.open(cx, splits)
    }

    fn poll(&mut self, out: &mut impl Emit<u64>) -> Result<Poll, ConnectorError> {
        self.inner.poll(out)
    }

    fn snapshot(&mut self) -> Result<Vec<(u64, u64)>, ConnectorError> {
        let now = self.inner.snapshot()?;
        Ok(match self.last.replace(now.clone()) {
            Some(last) if self.flaw == Flaw::Stale => last,
            _ => now,
        })
    }
}

fn job(env: &Env, flaw: Flaw) {
    env.source(Flawed { inner: Shelves::new(RECORDS), flaw, last: None })
        .uid("source")
        .map(|n| n.to_string().into_bytes())
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

pub(crate) fn honest(env: &Env) {
    job(env, Flaw::Nothing);
}

#[test]
fn planted_a_source_that_goes_on_one_record_too_late() {
    found_in_job(|env| job(env, Flaw::Ahead), 100);
}

#[test]
fn planted_a_source_that_goes_on_one_record_too_early() {
    found_in_job(|env| job(env, Flaw::Behind), 100);
}

#[test]
fn planted_a_source_whose_snapshot_is_an_old_one() {
    found_in_job(|env| job(env, Flaw::Stale), 100);
}
