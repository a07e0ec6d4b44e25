//! Jobs whose records go round.

use super::RECORDS;
use super::parts::{numbers, shelves, write};
use millstream::Env;
use millstream::config::ByteSize;

/// Checkpoints are taken although there is a loop, and a loop has room: without any it may fail the attempt at any time.
fn allow(env: &Env) {
    env.configure(|settings| {
        let checkpointing = &mut settings.checkpointing;
        (checkpointing.iterations_forced, checkpointing.unaligned_forced) = (true, true);
        checkpointing.alignment_max_spill = checkpointing.alignment_max_spill.max(ByteSize::mb(1));
    });
}

/// A step towards 1.
fn step(n: u64) -> u64 {
    if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 }
}

/// The steps of small numbers to 1, each of which is one turn.
pub(super) fn collatz(env: &Env) {
    allow(env);
    let begun = shelves(env).map(|n| (n, n % 26 + 1, 0u64));
    let ended = begun.iterate(|numbers| {
        let stepped = numbers.uid("loop").map(|(first, n, steps)| match n {
            1 => (first, n, steps),
            n => (first, step(n), steps + 1),
        });
        let (on, ended) = stepped.fork();
        (on.filter(|(_, n, _)| n != 1), ended.filter(|(_, n, _)| n == 1))
    });
    write(ended.map(|(first, _, steps)| format!("{first} took {steps}").into_bytes()));
}

/// Numbers that go down to 0, from key to key; at the end, how many each key has seen.
pub(super) fn countdown(env: &Env) {
    allow(env);
    let begun = numbers(env, RECORDS, "source").map(|n| n % 12);
    let counted = begun.key_by::<u64>(|n| n.get()).iterate(|numbers| {
        let seen = numbers
            .process::<u64, (bool, u64, u64)>("visits", |_, n, visits, out| {
                *visits += 1;
                out.emit((false, n, 0));
            })
            .on_end(|key, visits, out| out.emit((true, key, *visits)))
            .uid("visits");
        let (on, counted) = seen.fork();
        (on.filter(|(end, n, _)| !end && n > 0).map(|(_, n, _)| n - 1), counted.filter(|(end, ..)| end))
    });
    write(counted.map(|(_, key, visits)| format!("{key} total {visits}").into_bytes()));
}

/// A loop in a loop: of each number the inner one has three turns in each of the outer one's, and a key its state between.
pub(super) fn nested(env: &Env) {
    allow(env);
    let begun = shelves(env).map(|n| (n, n % 3, 0u64));
    let ended = begun.iterate(|outer| {
        let turned = outer.uid("outer").iterate(|inner| {
            let counted = inner.uid("inner").map(|(n, left, turns)| (n, left, turns + 1));
            let (on, turned) = counted.fork();
            (on.filter(|(.., turns)| turns % 3 != 0), turned.filter(|(.., turns)| turns % 3 == 0))
        });
        let keyed = turned.key_by::<u64>(|record| record.0 % 5);
        let seen = keyed.process::<u64, (u64, u64, u64)>("seen", |_, record, seen, out| {
            *seen += 1;
            out.emit(record);
        });
        let (on, ended) = seen.uid("seen").fork();
        (
            on.filter(|(_, left, _)| left > 0).map(|(n, left, turns)| (n, left - 1, turns)),
            ended.filter(|(_, left, _)| left == 0),
        )
    });
    write(ended.map(|(n, _, turns)| format!("{n} took {turns}").into_bytes()));
}
