//! Jobs that several tests run.

use crate::hand::env;
use crate::parts::{Fed, Log, Logged};
use millstream::connector::Collected;
use millstream::{Chain, Env, Stream};

/// Passes the numbers from `in` on to a sink behind an exchange. Source and sink are the same in every process.
pub struct Pass {
    pub source: Fed,
    /// What the sink was asked to do.
    pub log: Log,
    /// What it has committed.
    pub seen: Collected<u64>,
    sink: Logged,
}

impl Pass {
    pub fn new(last: u64) -> Self {
        let log = Log::default();
        let (sink, seen) = Logged::new(&log);
        Self { source: Fed::new(last), log, seen, sink }
    }

    pub fn env(&self) -> Env {
        let env = env();
        let numbers = env.source(self.source.clone()).name("in").uid("in").rebalance();
        numbers.sink(self.sink.clone()).uid("out");
        env
    }
}

/// Two sources that meet in one subtask, `union`.
pub fn joined(env: &Env, left: (&str, &Fed), right: (&str, &Fed)) -> Stream<impl Chain<Out = u64>> {
    let input = |(name, source): (&str, &Fed)| env.source(source.clone()).name(name).uid(name);
    // The right one first: it takes its steps before the left one.
    let right = input(right);
    input(left).union(right)
}

/// How many of the numbers have each remainder, emitted at the end of the input.
pub fn counted(env: &Env, source: &Fed, keys: u64) -> Stream<impl Chain<Out = (u64, u64)>> {
    env.source(source.clone())
        .name("in")
        .uid("in")
        .key_by::<u64>(move |n| n.get() % keys)
        .process::<u64, (u64, u64)>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit((key, *count)))
        .uid("count")
}
