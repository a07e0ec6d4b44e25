//! What several jobs are made of.

use super::{OUT, RECORDS, Shelves};
use millstream::connector::{FileSink, Generator};
use millstream::record::{Key, View};
use millstream::{Chain, Env, KeyedStream, Record, Stream};
use std::fmt::Display;

/// Records a second, so that a run outlasts several checkpoints.
const RATE: u64 = 5000;

/// The numbers below `count`, in order.
pub(super) fn numbers(env: &Env, count: u64, uid: &str) -> Stream<impl Chain<Out = u64>> {
    env.source(Generator::new(count, |i| i).rate(RATE)).uid(uid)
}

/// All numbers, from several splits, with pauses.
pub(super) fn shelves(env: &Env) -> Stream<impl Chain<Out = u64>> {
    env.source(Shelves::new(RECORDS)).uid("source")
}

/// At the end, how many records each key has.
pub(super) fn counted<T, K, F>(keyed: KeyedStream<T, K, F>) -> Stream<impl Chain<Out = Vec<u8>>>
where
    T: Record,
    K: Key,
    for<'a> K::Ref<'a>: Display,
    F: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Clone + Send + 'static,
{
    keyed
        .process::<u64, Vec<u8>>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit(format!("{key} total {count}").as_bytes()))
        .uid("count")
}

/// A line for every record, and one for every key at the end: the sum of its numbers.
pub(super) fn summed<F>(keyed: KeyedStream<u64, u64, F>) -> Stream<impl Chain<Out = Vec<u8>>>
where
    F: for<'a> FnMut(View<'a, u64>) -> u64 + Clone + Send + 'static,
{
    keyed
        .process::<u64, Vec<u8>>("sum", |cx, n, sum, out| {
            *sum += n;
            out.emit(format!("{},{n}", cx.key()).as_bytes());
        })
        .on_end(|key, sum, out| out.emit(format!("{key} total {sum}").as_bytes()))
        .uid("sum")
}

/// Writes the lines to [`OUT`].
pub(super) fn write(lines: Stream<impl Chain<Out = Vec<u8>>>) {
    lines.sink(FileSink::lines(OUT)).uid("sink");
}

/// The same, into files of so many bytes.
pub(super) fn write_rolling(lines: Stream<impl Chain<Out = Vec<u8>>>, bytes: u64) {
    lines.sink(FileSink::lines(OUT).roll_size(bytes)).uid("sink");
}
