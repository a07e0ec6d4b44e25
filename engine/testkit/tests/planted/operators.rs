//! Operators whose state is not where it should be.

use crate::found_in_job;
use millstream::connector::FileSink;
use millstream::{Collector, ConnectorError, Env, Operator, OperatorContext};
use millstream_testkit::zoo::{OUT, RECORDS, Shelves};

/// Emits a record together with the one before, and at the end a line for each that it has seen.
#[derive(Clone)]
struct Flawed {
    flaw: Flaw,
    held: Option<u64>,
    seen: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Nothing,
    /// What it has seen is in none of its snapshots.
    Forgets,
    /// It emits after the barrier what came before.
    Late,
    /// It keeps what it holds back also after it has handed it on before the barrier.
    Twice,
}

impl Operator for Flawed {
    type In = u64;
    type Out = Vec<u8>;
    type State = u64;

    fn open(&mut self, _: OperatorContext, restored: Vec<u64>) -> Result<(), ConnectorError> {
        self.seen = restored.into_iter().sum();
        Ok(())
    }

    fn process(&mut self, record: u64, out: &mut Collector<'_, Vec<u8>>) {
        self.seen += 1;
        match self.held.take() {
            Some(held) => [held, record].iter().for_each(|n| out.emit(n.to_string().as_bytes())),
            None => self.held = Some(record),
        }
    }

    fn before_barrier(&mut self, out: &mut Collector<'_, Vec<u8>>) {
        let held = match self.flaw {
            Flaw::Late => None,
            Flaw::Twice => self.held,
            _ => self.held.take(),
        };
        if let Some(held) = held {
            out.emit(held.to_string().as_bytes());
        }
    }

    fn snapshot(&mut self) -> Vec<u64> {
        if self.flaw == Flaw::Forgets { Vec::new() } else { vec![self.seen] }
    }

    fn finish(&mut self, out: &mut Collector<'_, Vec<u8>>) {
        if let Some(held) = self.held.take() {
            out.emit(held.to_string().as_bytes());
        }
        (0..self.seen).for_each(|_| out.emit(b"seen"));
    }
}

fn job(env: &Env, flaw: Flaw) {
    env.source(Shelves::new(RECORDS))
        .uid("source")
        .apply(Flawed { flaw, held: None, seen: 0 })
        .uid("operator")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

pub(crate) fn honest(env: &Env) {
    job(env, Flaw::Nothing);
}

#[test]
fn planted_an_operator_with_state_outside_of_its_snapshot() {
    found_in_job(|env| job(env, Flaw::Forgets), 100);
}

#[test]
fn planted_an_operator_that_emits_after_the_barrier_what_came_before() {
    found_in_job(|env| job(env, Flaw::Late), 100);
}

/// It does so also without any fault, in as far as there are checkpoints.
#[test]
fn planted_an_operator_that_emits_on_both_sides_of_the_barrier() {
    found_in_job(|env| job(env, Flaw::Twice), 100);
}
