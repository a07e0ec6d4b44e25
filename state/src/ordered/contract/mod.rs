//! What holds of every ordered backend, against a model: a sorted map of groups with keys to values.

mod histories;

use super::{HeapOrdered, OrderedBackend, PagedOrdered};
use crate::key_group::{KeyGroup, KeyGroupRange, Parallelism};
use crate::keyed::{Chunk, Extent, GroupChunk, KeyedSnapshot};
use crate::snapshot::merge;
use crate::testing::joined;
use std::collections::BTreeMap;

type Model = BTreeMap<(KeyGroup, Vec<u8>), Vec<u8>>;

/// Key groups, of which few are used.
const GROUPS: i64 = 128;

/// A backend that can be made.
trait Made: OrderedBackend + Sized {
    /// Nothing yet, for these groups.
    fn made(range: KeyGroupRange) -> Self;
}

impl Made for HeapOrdered {
    fn made(range: KeyGroupRange) -> Self {
        Self::new(range)
    }
}

impl Made for PagedOrdered {
    fn made(range: KeyGroupRange) -> Self {
        // So that models of some hundred keys meet both forms, and the way from one to the other.
        Self::new(range).small_up_to(3000).chunks_of(500)
    }
}

/// The subtasks of an operator, which have all groups.
struct Subtasks<B> {
    parallelism: Parallelism,
    states: Vec<B>,
    /// The snapshots of each from the last base on.
    chains: Vec<Vec<KeyedSnapshot>>,
    /// What was taken in chunks of the snapshots that are under way.
    chunks: Vec<Vec<Chunk>>,
}

impl<B: Made> Subtasks<B> {
    fn new(parallelism: i64) -> Self {
        let parallelism = Parallelism::new(parallelism, Some(GROUPS)).unwrap();
        let states: Vec<_> =
            (0..parallelism.subtasks()).map(|subtask| B::made(parallelism.range_of(subtask))).collect();
        let (chains, chunks) = (vec![Vec::new(); states.len()], vec![Vec::new(); states.len()]);
        Self { parallelism, states, chains, chunks }
    }

    /// The same state at another parallelism, from the snapshots of this one.
    fn restored(&self, parallelism: i64) -> Self {
        let mut new = Self::new(parallelism);
        for state in &mut new.states {
            for chunk in self.chains.iter().flatten().flat_map(|snapshot| &snapshot.groups) {
                state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
            }
            state.restored().unwrap();
        }
        new
    }

    /// Has the snapshots of what was restored just now build on those that it was restored from, where they can.
    fn resume(&mut self, chains: &[Vec<KeyedSnapshot>]) {
        for (subtask, (state, chain)) in self.states.iter_mut().zip(&mut self.chains).enumerate() {
            if state.build_on_restored() {
                chain.extend(chains.iter().flatten().cloned());
                let own = self.parallelism.range_of(subtask);
                let groups = chain.iter_mut().map(|snapshot| &mut snapshot.groups);
                groups.for_each(|groups| groups.retain(|chunk| own.contains(chunk.group)));
            }
        }
    }

    fn of(&self, group: KeyGroup) -> &B {
        &self.states[self.parallelism.subtask_of(group)]
    }

    fn of_mut(&mut self, group: KeyGroup) -> &mut B {
        &mut self.states[self.parallelism.subtask_of(group)]
    }

    fn len(&self) -> usize {
        self.states.iter().map(B::len).sum()
    }

    /// What all of them hold.
    fn content(&self) -> Model {
        let mut all = Model::new();
        for group in (0..GROUPS as u16).map(KeyGroup) {
            let mut last: Option<Vec<u8>> = None;
            self.of(group).scan(group, b"", &mut |key, value| {
                assert!(last.as_deref().is_none_or(|last| last < key), "in order");
                last = Some(key.to_vec());
                all.insert((group, key.to_vec()), value.to_vec());
                true
            });
        }
        assert_eq!(all.len(), self.len());
        all
    }

    fn freeze(&mut self) {
        self.states.iter_mut().for_each(B::freeze);
        assert!(self.states.iter().all(B::is_frozen));
    }

    /// Drains some more, and takes what is finished where snapshots are taken in chunks. Returns whether that was all.
    fn drain(&mut self, budget: usize, chunked: bool) -> bool {
        let mut done = true;
        for (state, chunks) in self.states.iter_mut().zip(&mut self.chunks) {
            done &= state.drain(budget);
            while let Some(chunk) = chunked.then(|| state.take_chunk()).flatten() {
                state.recycle(chunk.bytes.clone());
                chunks.push(chunk);
            }
        }
        done
    }

    /// Takes the snapshots of those that are frozen.
    fn take(&mut self, chunked: bool) {
        while !self.drain(500, chunked) {}
        let snapshots = self.states.iter_mut().zip(&mut self.chunks).zip(&mut self.chains);
        for ((state, chunks), chain) in snapshots.filter(|((state, _), _)| state.is_frozen()) {
            let snapshot = joined(&std::mem::take(chunks), state.take_snapshot());
            if snapshot.extent != Extent::Changes {
                chain.clear();
            }
            chain.push(snapshot);
        }
    }

    /// Makes one snapshot of the last two of each chain, as a merge in the background does.
    fn merge(&mut self) {
        for chain in self.chains.iter_mut().filter(|chain| chain.len() > 1) {
            let (Some(newer), Some(older)) = (chain.pop(), chain.last_mut()) else { continue };
            for chunk in newer.groups {
                match older.groups.binary_search_by_key(&chunk.group, |older| older.group) {
                    Ok(at) => {
                        let bytes = merge(&older.groups[at].bytes, &chunk.bytes).unwrap();
                        older.groups[at] = GroupChunk { bytes, ..chunk };
                    }
                    Err(at) => older.groups.insert(at, chunk),
                }
            }
        }
    }
}
