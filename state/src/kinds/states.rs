//! The states of a function on one subtask.

use super::kept::Kept;
use super::place::Place;
use super::timers::Queues;
use super::{Declarations, Scope, StateFault, Timers, TimersView};
use crate::descriptor::{StateDescriptor, StateKind};
use crate::key_group::{Grouping, KeyGroup, KeyGroupRange, Parallelism};
use crate::keyed::{RestoreError, Snapshots};
use crate::ordered::OrderedBackend;
use crate::paged::PagedFault;
use millstream_io::record::Key;
use std::marker::PhantomData;

/// All states that a function has declared, as one subtask keeps them.
///
/// They take part in snapshots one by one: see [`snapshots`](Self::snapshots). What could not be done is asked for with
/// [`take_fault`](Self::take_fault), after records and before a barrier.
pub struct States<K> {
    pub(super) kept: Vec<Kept>,
    pub(super) range: KeyGroupRange,
    pub(super) grouping: Grouping,
    /// Key of an entry; begins with the row of the current key.
    pub(super) entry: Vec<u8>,
    /// Bytes of the current key in it.
    key: usize,
    pub(super) now: u64,
    pub(super) fault: Option<StateFault>,
    pub(super) queues: Option<Queues>,
    of: PhantomData<fn() -> K>,
}

impl<K: Key> States<K> {
    /// The states, with nothing in them, of subtask `subtask`. `make` makes what keeps one of them.
    ///
    /// # Errors
    /// The backend of a state cannot be made.
    ///
    /// # Panics
    /// When there is no such subtask.
    pub fn new(
        declared: &Declarations<K>,
        width: Parallelism,
        subtask: usize,
        mut make: impl FnMut(&StateDescriptor, KeyGroupRange) -> Result<Box<dyn OrderedBackend>, PagedFault>,
    ) -> Result<Self, StateFault> {
        let range = width.range_of(subtask);
        let mut kept = Vec::with_capacity(declared.all().len());
        for one in declared.all() {
            let backend = make(one.descriptor(), range)
                .map_err(|source| StateFault::Lost { state: one.descriptor().name.clone(), source })?;
            kept.push(Kept::new(one, range, backend));
        }
        let timers = kept.iter().position(|kept| kept.kind == StateKind::EventTimers);
        let queues = timers.map(|first| Queues::new(first as u16, range));
        Ok(Self {
            kept,
            range,
            grouping: width.grouping(),
            entry: Vec::new(),
            key: 0,
            now: 0,
            fault: None,
            queues,
            of: PhantomData,
        })
    }

    /// The states of a key, whose hash this is.
    ///
    /// # Panics
    /// When it is used, and the subtask does not own the key.
    pub fn at<'s>(&'s mut self, hash: u64, key: K::Ref<'s>) -> Scope<'s, K> {
        self.entry.clear();
        K::encode_into(key, &mut self.entry);
        self.key = self.entry.len();
        let group = self.grouping.group(hash);
        Scope::new(self, group, hash, key)
    }

    pub(super) fn place(&mut self, state: u16, group: KeyGroup, hash: u64) -> Place<'_> {
        let kept =
            self.kept.get_mut(usize::from(state)).expect("a handle belongs to the function that declared it");
        let Self { entry, key, now, fault, .. } = self;
        Place { kept, group, hash, entry, key: *key, place: *key, now: *now, fault }
    }

    pub(super) fn timers<N: Key>(
        &mut self,
        timers: Timers<N>,
        group: KeyGroup,
        hash: u64,
    ) -> TimersView<'_, N> {
        let Self { kept, queues, entry, key, fault, .. } = self;
        let queues = queues.as_mut().filter(|queues| queues.is_at(timers.index));
        let queues = queues.expect("a handle belongs to the function that declared it");
        TimersView { kept, queues, group, hash, entry, key: *key, fault, of: PhantomData }
    }

    /// Says what time it is, in milliseconds since the epoch.
    pub fn set_time(&mut self, now_ms: u64) {
        self.now = now_ms;
    }

    /// What was said of the time last.
    pub fn now_ms(&self) -> u64 {
        self.now
    }

    /// Whether time matters: something has a time to live.
    pub fn has_ttl(&self) -> bool {
        self.kept.iter().any(|kept| kept.ttl.is_some())
    }

    /// Entries of a state, by its index: values, elements, entries of maps, of all keys and namespaces.
    pub fn entries(&self, state: usize) -> usize {
        self.kept[state].backend.len()
    }

    /// Looks at about so many entries of each state that has a time to live, and removes those that have expired (TT-03).
    /// Over several calls it comes to all of them, round and round, however they change in between. Returns how many were
    /// removed.
    pub fn clean(&mut self, looks: usize) -> usize {
        let Self { kept, range, now, .. } = self;
        kept.iter_mut().map(|kept| kept.clean(*range, looks, *now)).sum()
    }

    /// What could not be done since this was last asked; the first of several.
    pub fn take_fault(&mut self) -> Option<StateFault> {
        for kept in &mut self.kept {
            if let Some(source) = kept.backend.take_fault() {
                self.fault.get_or_insert_with(|| StateFault::Lost { state: kept.name.clone(), source });
            }
        }
        self.fault.take()
    }

    /// Barrier: freezes each of them. Snapshots that have all of a state leave out what has expired by now (TT-03).
    pub fn freeze(&mut self) {
        for kept in &mut self.kept {
            kept.backend.leave_out_up_to(kept.ttl.and_then(|ttl| ttl.over_up_to(self.now)));
            kept.backend.freeze();
        }
    }

    /// The states as far as snapshots are concerned, by their index.
    pub fn snapshots(&mut self) -> impl Iterator<Item = (u16, &mut dyn Snapshots)> {
        (0u16..).zip(&mut self.kept).map(|(index, kept)| (index, &mut *kept.backend as &mut dyn Snapshots))
    }

    /// To be called when each of them has been [restored](Snapshots::restored): looks at every entry once, and removes those
    /// that have expired. The [time](Self::set_time) is to be set before.
    ///
    /// # Errors
    /// The name of the state, and what is wrong with an entry of it.
    pub fn restored(&mut self) -> Result<(), (String, RestoreError)> {
        for kept in &mut self.kept {
            let verified = kept.verify(self.range, self.grouping);
            verified.map_err(|error| (kept.name.clone(), error))?;
            kept.clean(self.range, usize::MAX, self.now);
        }
        if let Some(queues) = &mut self.queues {
            queues.restored(&self.kept);
        }
        Ok(())
    }
}
