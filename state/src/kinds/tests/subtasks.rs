//! An operator of several subtasks that is snapshotted, restored, and has its parallelism changed.

use super::*;
use crate::key_group::Parallelism;
use crate::keyed::{Extent, KeyedSnapshot};
use millstream_io::record::Key;

/// Key groups of the operator.
const GROUPS: i64 = 128;

pub(super) struct Subtasks<K> {
    declared: Declarations<K>,
    make: Make,
    pub width: Parallelism,
    pub all: Vec<States<K>>,
    /// By subtask and state, the snapshots from the last base on.
    chains: Vec<Vec<Vec<KeyedSnapshot>>>,
    pub now: u64,
}

impl<K: Key> Subtasks<K> {
    pub fn new(declared: &Declarations<K>, make: Make, subtasks: i64) -> Self {
        let width = Parallelism::new(subtasks, Some(GROUPS)).unwrap();
        let mut this =
            Self { declared: declared.clone(), make, width, all: Vec::new(), chains: Vec::new(), now: 0 };
        this.fresh();
        this
    }

    fn fresh(&mut self) {
        let states = |subtask| {
            let make = self.make;
            let mut states =
                States::new(&self.declared, self.width, subtask, |_, range| Ok(make(range))).unwrap();
            states.set_time(self.now);
            states
        };
        self.all = (0..self.width.subtasks()).map(states).collect();
        self.chains = vec![vec![Vec::new(); self.declared.all().len()]; self.width.subtasks()];
    }

    pub fn set_time(&mut self, now: u64) {
        self.now = now;
        self.all.iter_mut().for_each(|states| states.set_time(now));
    }

    pub fn at<'s>(&'s mut self, key: K::Ref<'s>) -> Scope<'s, K> {
        let hash = K::hash(key);
        let subtask = self.width.subtask_of(self.width.grouping().group(hash));
        self.all[subtask].at(hash, key)
    }

    pub fn freeze(&mut self) {
        self.all.iter_mut().for_each(States::freeze);
    }

    pub fn drain(&mut self, budget: usize) {
        self.each(|_, state| {
            state.drain(budget);
        });
    }

    pub fn abandon(&mut self) {
        self.take_where(|state| state.is_frozen() && !state.abandon());
    }

    /// Drains what is left, and takes the snapshots.
    pub fn take(&mut self) {
        self.take_where(|_| true);
    }

    fn take_where(&mut self, mut is: impl FnMut(&mut dyn crate::Snapshots) -> bool) {
        let mut chains = std::mem::take(&mut self.chains);
        self.each(|(subtask, index), state| {
            if !is(state) {
                return;
            }
            while !state.drain(200) {}
            let (snapshot, chain) = (state.take_snapshot(), &mut chains[subtask][index]);
            if snapshot.extent != Extent::Changes {
                chain.clear();
            }
            chain.push(snapshot);
        });
        self.chains = chains;
    }

    /// Entries in the newest snapshot of a state.
    pub fn taken(&self, state: usize) -> u64 {
        self.chains.iter().filter_map(|of| of[state].last()).map(KeyedSnapshot::entries).sum()
    }

    /// Goes on from the snapshots that were taken last, with another parallelism.
    pub fn restore(&mut self, subtasks: i64) {
        let chains = std::mem::take(&mut self.chains);
        self.width = Parallelism::new(subtasks, Some(GROUPS)).unwrap();
        self.fresh();
        self.each(|(_, index), state| {
            for chunk in chains.iter().flat_map(|of| &of[index]).flat_map(|snapshot| &snapshot.groups) {
                state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
            }
            state.restored().unwrap();
        });
        for states in &mut self.all {
            states.restored().unwrap();
            assert!(states.take_fault().is_none());
        }
    }

    /// What is restored next is the state of another program.
    pub fn declare_again(&mut self, declared: &Declarations<K>) {
        self.declared = declared.clone();
    }

    pub fn entries(&self, state: usize) -> usize {
        self.all.iter().map(|states| states.entries(state)).sum()
    }

    fn each(&mut self, mut f: impl FnMut((usize, usize), &mut dyn crate::Snapshots)) {
        for (subtask, states) in self.all.iter_mut().enumerate() {
            for (index, state) in states.snapshots() {
                f((subtask, usize::from(index)), state);
            }
        }
    }
}
