//! A batch of records against keyed state: prefetch ahead, then operate.

use super::{Entry, KeyedBackend};
use millstream_io::record::{Key, Record};
use std::ops::Range;

/// Rows whose state is asked for at once, before the rows of the block before are worked on. (Measured at 10 million small
/// keys in huge pages: 16 is about a tenth faster than 8. With small pages it was the other way round, as more page
/// walks were under way than the processor keeps track of.)
pub const BLOCK: usize = 16;

/// The rows of a batch, known by index: where their keys come from, and what is done with each key's state.
///
/// One trait rather than three closures, so that all of them may use the same mutable things, a user's key function
/// above all, without a cell between them.
pub trait Rows<'k, K: Key, V> {
    /// The hash of a row's key.
    fn hash(&mut self, row: usize) -> u64;

    /// A row's key.
    fn key(&mut self, row: usize) -> K::Ref<'k>;

    /// Works on a row, whose key this is, and its state.
    fn apply(&mut self, row: usize, key: K::Ref<'k>, entry: Entry<'_, V>);

    /// Whether to end behind the row that was just worked on.
    #[inline(always)]
    fn is_over(&self) -> bool {
        false
    }
}

/// Works through `range` in order, to its end or to a row behind which it [is over](Rows::is_over). Returns how many rows
/// were worked on.
///
/// Call it with as many rows as there are: the first [`BLOCK`] of each call wait for memory.
///
/// ```
/// use millstream_io::record::Key;
/// use millstream_state::keyed::Entry;
/// use millstream_state::keyed::batch::{Rows, for_batch};
/// use millstream_state::{HeapState, KeyedBackend, Parallelism};
///
/// struct Pairs<'a>(&'a [(u64, u64)]);
///
/// impl<'a> Rows<'a, u64, u64> for Pairs<'a> {
///     fn hash(&mut self, row: usize) -> u64 {
///         u64::hash(self.0[row].0)
///     }
///     fn key(&mut self, row: usize) -> u64 {
///         self.0[row].0
///     }
///     fn apply(&mut self, row: usize, _: u64, mut sum: Entry<'_, u64>) {
///         *sum += self.0[row].1;
///     }
/// }
///
/// let whole = Parallelism::new(1, None)?;
/// let mut sums = HeapState::<u64, u64>::new(whole.range_of(0), whole.max());
/// for_batch(&mut sums, 0..3, &mut Pairs(&[(7, 1), (8, 2), (7, 3)]));
/// assert_eq!(sums.with(u64::hash(7), 7, |sum| *sum), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline(always)]
pub fn for_batch<'k, K: Key, V: Record, B: KeyedBackend<K, V>>(
    backend: &mut B,
    range: Range<usize>,
    rows: &mut impl Rows<'k, K, V>,
) -> usize {
    let many = range.len();
    if !backend.big() {
        for row in range.clone() {
            let (hash, key) = (rows.hash(row), rows.key(row));
            backend.with_small(hash, key, |entry| rows.apply(row, key, entry));
            if rows.is_over() {
                return row + 1 - range.start;
            }
        }
        return many;
    }
    // The hashes of two blocks in turn: the one whose state was asked for, and the one whose state is asked for.
    let mut hashes = [[0; BLOCK]; 2];
    let mut ahead = range.start;
    for first in range.clone().step_by(BLOCK) {
        let [now, next] = &mut hashes;
        if first == range.start {
            ahead = ask(backend, rows, ahead..range.end, now);
        }
        ahead = ask(backend, rows, ahead..range.end, next);
        for (row, hash) in (first..range.end).zip(&*now) {
            let key = rows.key(row);
            backend.with_big(*hash, key, |entry| rows.apply(row, key, entry));
            if rows.is_over() {
                return row + 1 - range.start;
            }
        }
        *now = *next;
    }
    many
}

/// Asks for the state of the first [`BLOCK`] rows of the range, or as many as there are. Returns the row behind them.
#[inline(always)]
fn ask<'k, K: Key, V: Record>(
    backend: &impl KeyedBackend<K, V>,
    rows: &mut impl Rows<'k, K, V>,
    range: Range<usize>,
    hashes: &mut [u64; BLOCK],
) -> usize {
    let end = range.end.min(range.start + BLOCK);
    for (row, hash) in (range.start..end).zip(hashes) {
        *hash = rows.hash(row);
        backend.prefetch(*hash);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeapState, Parallelism};

    struct Numbers<'a> {
        keys: u64,
        seen: &'a mut Vec<usize>,
        /// It is over behind this row.
        last: usize,
    }

    impl Rows<'static, u64, u64> for Numbers<'_> {
        fn hash(&mut self, row: usize) -> u64 {
            u64::hash(self.key(row))
        }

        fn key(&mut self, row: usize) -> u64 {
            row as u64 * 7919 % self.keys
        }

        fn apply(&mut self, row: usize, _: u64, mut sum: Entry<'_, u64>) {
            *sum += row as u64;
            self.seen.push(row);
        }

        fn is_over(&self) -> bool {
            self.seen.last() == Some(&self.last)
        }
    }

    #[test]
    fn every_row_once_and_in_order_in_small_and_big_tables() {
        let whole = Parallelism::new(1, None).unwrap();
        for keys in [10u64, 400_000] {
            let mut state = HeapState::<u64, u64>::new(whole.range_of(0), whole.max());
            (0..keys).for_each(|key| state.with(u64::hash(key), key, |_| ()));
            assert_eq!(state.big(), keys > 10);
            for len in (0..40).chain([1000]) {
                let mut seen = Vec::new();
                let last = usize::MAX;
                let done = for_batch(&mut state, 3..3 + len, &mut Numbers { keys, seen: &mut seen, last });
                assert_eq!((done, &seen), (len, &(3..3 + len).collect::<Vec<_>>()));
            }
            assert_eq!(state.len() as u64, keys, "each row with the hash of its own key");
            let mut total = 0;
            state.for_each(|_, sum| total += *sum);
            let rows = |len: u64| (3..3 + len).sum::<u64>();
            assert_eq!(total, (0..40).map(rows).sum::<u64>() + rows(1000));
        }
    }

    #[test]
    fn it_ends_behind_the_row_that_says_so() {
        let whole = Parallelism::new(1, None).unwrap();
        for keys in [10u64, 400_000] {
            let mut state = HeapState::<u64, u64>::new(whole.range_of(0), whole.max());
            (0..keys).for_each(|key| state.with(u64::hash(key), key, |_| ()));
            for last in 3..40 {
                let mut seen = Vec::new();
                let done = for_batch(&mut state, 3..40, &mut Numbers { keys, seen: &mut seen, last });
                assert_eq!((done, seen), (last - 2, (3..=last).collect()));
            }
        }
    }
}
