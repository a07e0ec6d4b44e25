//! The jobs.

use super::{Batch, IN, OUT, RECORDS, Shelves, Tally};
use millstream::Env;
use millstream::connector::{FileSink, FileSource, Generator};

/// Records a second, so that a run outlasts several checkpoints.
const RATE: u64 = 5000;

/// Without state: source to sink over an exchange.
pub(super) fn pass(env: &Env) {
    env.source(Generator::new(RECORDS, |i| i).rate(RATE))
        .uid("source")
        .rebalance()
        .map(|n| n.to_string().into_bytes())
        .sink(FileSink::lines(OUT).roll_size(100))
        .uid("sink");
}

/// All output comes at the end of the input, from keyed state.
pub(super) fn count(env: &Env) {
    env.source(Generator::new(RECORDS, |i| i * 7 % 13).rate(RATE))
        .uid("source")
        .key_by::<u64>(|n| n.get())
        .process::<u64, Vec<u8>>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit(format!("{key} total {count}").as_bytes()))
        .uid("count")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// A line for every record, and one for every key at the end.
pub(super) fn running(env: &Env) {
    env.source(Shelves::new(RECORDS))
        .uid("source")
        .key_by::<u64>(|n| n.get() % 7)
        .process::<u64, Vec<u8>>("running", |cx, n, sum, out| {
            *sum += n;
            out.emit(format!("{},{n}", cx.key()).as_bytes());
        })
        .on_end(|key, sum, out| out.emit(format!("{key} total {sum}").as_bytes()))
        .uid("running")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// Two inputs, one much shorter, that meet in one keyed state with text keys.
pub(super) fn union(env: &Env) {
    let long = env.source(Generator::new(RECORDS - 10, |i| i).rate(RATE)).uid("long");
    let short = env.source(Generator::new(10, |i| i)).uid("short").parallelism(1);
    long.union(short)
        .map(|n| format!("key {}", n % 5))
        .key_by::<String>(|text| text.get())
        .process::<u64, Vec<u8>>("seen", |cx, _, seen, out| {
            *seen += 1;
            if *seen == 10 {
                // Forgotten and begun again: removal is part of the state's life.
                cx.clear();
                out.emit(format!("{} ten", cx.key()).as_bytes());
            }
        })
        .on_end(|key, seen, out| out.emit(format!("{key} and {seen}").as_bytes()))
        .uid("seen")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// Two keyed operators one behind the other.
pub(super) fn two_keys(env: &Env) {
    env.source(Shelves::new(RECORDS))
        .uid("source")
        .key_by::<u64>(|n| n.get() % 11)
        .process::<u64, (u64, u64)>("first", |_, n, sum, out| {
            *sum += 1;
            out.emit((n % 3, n));
        })
        .uid("first")
        .key_by::<u64>(|pair| pair.0)
        .process::<(u64, u64), Vec<u8>>("second", |cx, pair, (seen, sum), out| {
            (*seen, *sum) = (*seen + 1, *sum + pair.1);
            out.emit(format!("{},{}", cx.key(), pair.1).as_bytes());
        })
        .on_end(|key, (seen, sum), out| {
            out.emit(format!("seen of {key} total {seen}").as_bytes());
            out.emit(format!("sum of {key} total {sum}").as_bytes());
        })
        .uid("second")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// An operator of a user with list state, which emits at the end what it has seen.
pub(super) fn numbered(env: &Env) {
    env.source(Shelves::new(RECORDS))
        .uid("source")
        .apply(Tally::default())
        .uid("tally")
        .rebalance()
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// Every record comes to every subtask, and of all its copies one gets through.
pub(super) fn dedup(env: &Env) {
    env.source(Generator::new(RECORDS, |i| i).rate(RATE))
        .uid("source")
        .broadcast()
        .key_by::<u64>(|n| n.get())
        .process::<bool, Vec<u8>>("seen", |_, n, seen, out| {
            if !std::mem::replace(seen, true) {
                out.emit(n.to_string().as_bytes());
            }
        })
        .uid("seen")
        .sink(FileSink::lines(OUT).roll_size(64))
        .uid("sink");
}

/// Words of files of different lengths.
pub(super) fn words(env: &Env) {
    env.source(FileSource::lines([IN]))
        .uid("source")
        .flat_map::<String>(|line, out| {
            line.split(|b| *b == b' ').for_each(|word| out.emit(&String::from_utf8_lossy(word)))
        })
        .key_by::<String>(|word| word.get())
        .process::<u64, Vec<u8>>("count", |_, _, count, _| *count += 1)
        .on_end(|word, count, out| out.emit(format!("{word} total {count}").as_bytes()))
        .uid("count")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// Records that are larger than a buffer, so that more is held back during an alignment than may be.
pub(super) fn bulky(env: &Env) {
    env.source(Shelves::new(RECORDS))
        .uid("source")
        .map(|n| (n, "x".repeat(n as usize % 5 * 700)))
        .rebalance()
        .key_by::<u64>(|pair| pair.0 % 5)
        .process::<(u64, String), Vec<u8>>("last", |_, (n, text), state, out| {
            state.0 += 1;
            text.clone_into(&mut state.1);
            out.emit(format!("{n} {}", text.len()).as_bytes());
        })
        .on_end(|key, state, out| {
            out.emit(format!("{key} of length {} total {}", state.1.len(), state.0).as_bytes());
        })
        .uid("last")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// One stream on two ways, of which one is filtered, that meet again.
pub(super) fn fork(env: &Env) {
    let (all, some) = env.source(Shelves::new(RECORDS)).uid("source").fork();
    let some = some.filter(|n| n % 3 == 0).map(|n| n + 1000);
    all.map(|n| n)
        .union(some)
        .key_by::<u64>(|n| n.get() % 6)
        .process::<u64, Vec<u8>>("sum", |_, n, sum, out| {
            *sum += n;
            out.emit(n.to_string().as_bytes());
        })
        .on_end(|key, sum, out| out.emit(format!("{key} total {sum}").as_bytes()))
        .uid("sum")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// A user's operator that keeps records back between two barriers.
pub(super) fn batched(env: &Env) {
    env.source(Generator::new(RECORDS, |i| i).rate(RATE))
        .uid("source")
        .apply(Batch::default())
        .uid("batch")
        .key_by::<u64>(|n| n.get() % 9)
        .process::<u64, Vec<u8>>("sum", |_, n, sum, out| {
            *sum += n;
            out.emit(n.to_string().as_bytes());
        })
        .on_end(|key, sum, out| out.emit(format!("{key} total {sum}").as_bytes()))
        .uid("sum")
        .sink(FileSink::lines(OUT))
        .uid("sink");
}

/// Two streams that have nothing to do with each other, of which one ends early and then has said all that it has to.
pub(super) fn apart(env: &Env) {
    let early = env.source(Generator::new(RECORDS / 4, |i| i).rate(RATE)).uid("early");
    early
        .rebalance()
        .parallelism(1)
        .apply(Tally::closing())
        .uid("tally")
        .sink(FileSink::lines(format!("{OUT}/early")))
        .uid("early sink");
    let late = env.source(Generator::new(RECORDS - RECORDS / 4, |i| i).rate(RATE)).uid("late");
    late.key_by::<u64>(|n| n.get() % 10)
        .process::<u64, Vec<u8>>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit(format!("{key} total {count}").as_bytes()))
        .uid("count")
        .sink(FileSink::lines(format!("{OUT}/late")))
        .uid("late sink");
}
