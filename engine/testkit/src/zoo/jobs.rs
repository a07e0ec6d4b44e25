//! The jobs.

use super::parts::{counted, numbers, shelves, summed, write, write_rolling};
use super::{Batch, IN, Ledger, OUT, RECORDS, Tally};
use millstream::Env;
use millstream::connector::{FileSink, FileSource, Generator};

/// Without state: source to sink over an exchange.
pub(super) fn pass(env: &Env) {
    let lines = numbers(env, RECORDS, "source").rebalance().map(|n| n.to_string().into_bytes());
    write_rolling(lines, 100);
}

/// All output comes at the end of the input, from keyed state.
pub(super) fn count(env: &Env) {
    write(counted(numbers(env, RECORDS, "source").map(|i| i * 7 % 13).key_by::<u64>(|n| n.get())));
}

/// A line for every record, and one for every key at the end.
pub(super) fn running(env: &Env) {
    write(summed(shelves(env).key_by::<u64>(|n| n.get() % 7)));
}

/// Two inputs, one much shorter, that meet in one keyed state with text keys.
pub(super) fn union(env: &Env) {
    let long = numbers(env, RECORDS - 10, "long");
    let short = env.source(Generator::new(10, |i| i)).uid("short").parallelism(1);
    let seen = long
        .union(short)
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
        .uid("seen");
    write(seen);
}

/// Two keyed operators one behind the other.
pub(super) fn two_keys(env: &Env) {
    let second = shelves(env)
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
        .uid("second");
    write(second);
}

/// An operator of a user with list state, which emits at the end what it has seen.
pub(super) fn numbered(env: &Env) {
    write(shelves(env).apply(Tally::default()).uid("tally").rebalance());
}

/// Every record comes to every subtask, and of all its copies one gets through.
pub(super) fn dedup(env: &Env) {
    let first = numbers(env, RECORDS, "source")
        .broadcast()
        .key_by::<u64>(|n| n.get())
        .process::<bool, Vec<u8>>("seen", |_, n, seen, out| {
            if !std::mem::replace(seen, true) {
                out.emit(n.to_string().as_bytes());
            }
        })
        .uid("seen");
    write_rolling(first, 64);
}

/// Words of files of different lengths.
pub(super) fn words(env: &Env) {
    let words = env.source(FileSource::lines([IN])).uid("source").flat_map::<String>(|line, out| {
        line.split(|b| *b == b' ').for_each(|word| out.emit(&String::from_utf8_lossy(word)))
    });
    write(counted(words.key_by::<String>(|word| word.get())));
}

/// Records that are larger than a buffer, so that more is held back during an alignment than may be.
pub(super) fn bulky(env: &Env) {
    let last = shelves(env)
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
        .uid("last");
    write(last);
}

/// One stream on two ways, of which one is filtered, that meet again.
pub(super) fn fork(env: &Env) {
    let (all, some) = shelves(env).fork();
    let some = some.filter(|n| n % 3 == 0).map(|n| n + 1000);
    write(summed(all.map(|n| n).union(some).key_by::<u64>(|n| n.get() % 6)));
}

/// A user's operator that keeps records back between two barriers.
pub(super) fn batched(env: &Env) {
    let batches = numbers(env, RECORDS, "source").apply(Batch::default()).uid("batch");
    write(summed(batches.key_by::<u64>(|n| n.get() % 9)));
}

/// Two streams that have nothing to do with each other, of which one ends early and then has said all that it has to.
pub(super) fn apart(env: &Env) {
    let early = numbers(env, RECORDS / 4, "early").rebalance().parallelism(1);
    let tally = early.apply(Tally::closing()).uid("tally");
    tally.sink(FileSink::lines(format!("{OUT}/early"))).uid("early sink");
    let late = numbers(env, RECORDS - RECORDS / 4, "late").key_by::<u64>(|n| n.get() % 10);
    counted(late).sink(FileSink::lines(format!("{OUT}/late"))).uid("late sink");
}

/// A keyed function with states of several kinds, and timers that are called by the clock and at the end.
pub(super) fn ledger(env: &Env) {
    write(shelves(env).key_by::<u64>(|n| n.get() % 7).function("ledger", Ledger::declare).uid("ledger"));
}
