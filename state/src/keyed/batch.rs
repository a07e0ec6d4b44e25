//! A batch of records against keyed state: prefetch ahead, then operate.

use super::{Entry, KeyedBackend};
use millstream_io::record::{Key, Record};
use std::ops::Range;

/// How many rows ahead of the one that is worked on state is asked for. One by one: a block at once would wait until as
/// many cache lines as the processor fetches side by side are there, and then fetch none while the block is worked on.
const AHEAD: usize = 32;

/// How many rows ahead what was asked for is looked at, where that says where more is.
const NEARER: usize = AHEAD / 2;

/// The rows of a batch, known by index: where their keys come from, and what is done with each key's state.
///
/// One trait rather than three closures, so that all of them may use the same mutable things, a user's key function
/// above all, without a cell between them.
pub trait Rows<'k, K: Key, V> {
    /// How many rows there are, which may be more than are to be worked on: the state of later ones is asked for too, so
    /// that a call that goes on there need not wait.
    fn known(&self) -> usize;

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
/// ```
/// use millstream_io::record::Key;
/// use millstream_state::keyed::Entry;
/// use millstream_state::keyed::batch::{Rows, for_batch};
/// use millstream_state::{HeapState, KeyedBackend, Parallelism};
///
/// struct Pairs<'a>(&'a [(u64, u64)]);
///
/// impl<'a> Rows<'a, u64, u64> for Pairs<'a> {
///     fn known(&self) -> usize {
///         self.0.len()
///     }
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
    let known = rows.known();
    backend.forget_places();
    let mut ahead = Ahead::new();
    let mut places = [B::Place::default(); AHEAD];
    ahead.look(backend, rows, range.start..known.min(range.start + AHEAD));
    for row in range.start..known.min(range.start + AHEAD) {
        places[row % AHEAD] = ahead.prefetch(backend, rows, row);
    }
    let mut first = range.start;
    while first < range.end {
        let behind = first + AHEAD;
        ahead.look(backend, rows, behind.min(known)..known.min(behind + AHEAD));
        for row in first..behind.min(range.end) {
            let place = places[row % AHEAD];
            if row + AHEAD < known {
                places[row % AHEAD] = ahead.prefetch(backend, rows, row + AHEAD);
            }
            if B::APPROACHES && row + NEARER < known {
                backend.approach(places[(row + NEARER) % AHEAD], rows.hash(row + NEARER));
            }
            let (hash, key) = (rows.hash(row), rows.key(row));
            backend.with_big(place, hash, key, |entry| rows.apply(row, key, entry));
            if rows.is_over() {
                return row + 1 - range.start;
            }
        }
        first = behind;
    }
    many
}

/// Hashes and key groups of the rows that are asked for next, for backends that want to know the group: many at once, since
/// one at a time takes longer than all else that finding a place takes.
struct Ahead {
    halves: [u32; AHEAD],
    groups: [u32; AHEAD],
}

impl Ahead {
    #[inline(always)]
    fn new() -> Self {
        Self { halves: [0; AHEAD], groups: [0; AHEAD] }
    }

    /// Finds the groups of some rows, which are fewer than are asked for ahead.
    #[inline(always)]
    fn look<'k, K: Key, V: Record, B: KeyedBackend<K, V>>(
        &mut self,
        backend: &B,
        rows: &mut impl Rows<'k, K, V>,
        range: Range<usize>,
    ) {
        if !B::GROUPED || range.is_empty() {
            return;
        }
        let many = range.len();
        for (half, row) in self.halves.iter_mut().zip(range.clone()) {
            *half = (rows.hash(row) >> 32) as u32;
        }
        backend.groups(&self.halves[..many], &mut self.groups[..many]);
        // Where a row has its place depends on where the range begins: a row has the same one in all ranges.
        self.groups.rotate_right(range.start % AHEAD);
    }

    #[inline(always)]
    fn prefetch<'k, K: Key, V: Record, B: KeyedBackend<K, V>>(
        &self,
        backend: &B,
        rows: &mut impl Rows<'k, K, V>,
        row: usize,
    ) -> B::Place {
        let group = if B::GROUPED { self.groups[row % AHEAD] } else { 0 };
        backend.prefetch(group, rows.hash(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeapState, Parallelism};

    struct Numbers<'a> {
        keys: u64,
        known: usize,
        seen: &'a mut Vec<usize>,
        /// It is over behind this row.
        last: usize,
    }

    impl Rows<'static, u64, u64> for Numbers<'_> {
        fn known(&self) -> usize {
            self.known
        }

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
                let done = for_batch(
                    &mut state,
                    3..3 + len,
                    &mut Numbers { keys, known: 3 + len + len % 7, seen: &mut seen, last },
                );
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
                let done =
                    for_batch(&mut state, 3..40, &mut Numbers { keys, known: 45, seen: &mut seen, last });
                assert_eq!((done, seen), (last - 2, (3..=last).collect()));
            }
        }
    }
}
