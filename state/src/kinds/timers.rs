//! Timers: moments at which a function is called for a key (TM-01 to TM-05).

use super::kept::Kept;
use super::lowest::Lowest;
use super::place::{append_namespace, append_void};
use super::{StateFault, States};
use crate::key_group::{KeyGroup, KeyGroupRange};
use millstream_io::record::{DecodeError, Key};
use std::marker::PhantomData;

/// Bytes of the timestamp in front of a timer's key.
const TIME: usize = 8;

/// Which time a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// Event time: watermarks.
    Event,
    /// Processing time: the clock.
    Processing,
}

/// The timers of a function: see [`TimersView`].
///
/// `N` is the type of their namespaces.
#[derive(Debug)]
pub struct Timers<N = ()> {
    /// Index of the event-time timers; those of processing time are the next.
    pub(super) index: u16,
    of: PhantomData<fn() -> N>,
}

impl<N> Timers<N> {
    pub(super) fn new(index: u16) -> Self {
        Self { index, of: PhantomData }
    }
}

impl<N> Clone for Timers<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Timers<N> {}

/// What is known of the timers of a subtask besides the timers themselves.
pub(super) struct Queues {
    /// Index of the event-time timers.
    first: u16,
    /// By kind, for each key group: no timer of it is earlier.
    lowest: [Lowest; 2],
    range: KeyGroupRange,
    /// The key of a timer.
    key: Vec<u8>,
    watermark: i64,
    /// Timers up to the watermark are to be called.
    advancing: bool,
}

impl Queues {
    pub fn new(first: u16, range: KeyGroupRange) -> Self {
        let lowest = [(); 2].map(|()| Lowest::new(range.len()));
        Self { first, lowest, range, key: Vec::new(), watermark: i64::MIN, advancing: false }
    }

    /// Whether this is the index of the event-time timers.
    pub fn is_at(&self, index: u16) -> bool {
        self.first == index
    }

    fn state(&self, kind: TimerKind) -> usize {
        usize::from(self.first) + kind as usize
    }

    fn place(&self, group: KeyGroup) -> usize {
        usize::from(group.0 - self.range.start().0)
    }

    /// Finds each group's first timer, after a restore.
    pub fn restored(&mut self, kept: &[Kept]) {
        for kind in [TimerKind::Event, TimerKind::Processing] {
            for group in self.range.iter() {
                let first = first(&kept[self.state(kind)], group);
                self.lowest[kind as usize].set(self.place(group), first);
            }
        }
    }

    /// Goes to the earliest timer up to `limit`: its group and timestamp.
    fn earliest(&mut self, kept: &Kept, kind: TimerKind, limit: i64) -> Option<(KeyGroup, i64)> {
        let lowest = &mut self.lowest[kind as usize];
        while let Some((bound, place)) = lowest.min()
            && bound <= limit
        {
            let group = KeyGroup(self.range.start().0 + place as u16);
            let first = first(kept, group);
            if first == Some(bound) {
                return Some((group, bound));
            }
            lowest.set(place, first);
        }
        None
    }
}

/// The time of a group's first timer.
fn first(kept: &Kept, group: KeyGroup) -> Option<i64> {
    let (key, _) = kept.backend.first_from(group, &[])?;
    timestamp_of(key)
}

/// The timestamp in front of a timer's key.
fn timestamp_of(key: &[u8]) -> Option<i64> {
    key.first_chunk::<TIME>().map(|bytes| from_bytes(*bytes))
}

/// In the order of time when compared as bytes.
fn to_bytes(timestamp: i64) -> [u8; TIME] {
    (timestamp ^ i64::MIN).to_be_bytes()
}

fn from_bytes(bytes: [u8; TIME]) -> i64 {
    i64::from_be_bytes(bytes) ^ i64::MIN
}

/// The timers of a key: a set of moments, in milliseconds (of processing time since the epoch). Which are there is part of
/// every snapshot (TM-04).
///
/// ```
/// use millstream_io::record::Key;
/// use millstream_state::kinds::{Declarations, States, Timer, TimerKind};
/// # use millstream_state::{HeapOrdered, Parallelism};
///
/// let mut declared = Declarations::<u64>::new();
/// let timers = declared.timers();
/// # let width = Parallelism::new(1, None)?;
/// # let mut states = States::new(&declared, width, 0, |_, range| Ok(Box::new(HeapOrdered::new(range))))?;
/// for key in [7, 8] {
///     states.at(u64::hash(key), key).timers(timers).register_event(100 - key as i64);
///     states.at(u64::hash(key), key).timers(timers).register_event(200);
/// }
/// states.at(u64::hash(8), 8).timers(timers).delete_event(200);
///
/// states.advance_watermark(200);
/// let (mut timer, mut called) = (Timer::new(), Vec::new());
/// while states.next_timer(TimerKind::Event, &mut timer) {
///     called.push((timer.timestamp(), timer.key().map(|(_, key)| key)));
/// }
/// assert_eq!(called, [(92, Some(8)), (93, Some(7)), (200, Some(7))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a view does nothing by itself"]
pub struct TimersView<'a, N = ()> {
    pub(super) kept: &'a mut [Kept],
    pub(super) queues: &'a mut Queues,
    pub(super) group: KeyGroup,
    pub(super) hash: u64,
    pub(super) entry: &'a mut Vec<u8>,
    /// Bytes of the key in the entry.
    pub(super) key: usize,
    pub(super) fault: &'a mut Option<StateFault>,
    pub(super) of: PhantomData<fn() -> N>,
}

impl<N: Key> TimersView<'_, N> {
    /// The same in a namespace.
    pub fn within(self, namespace: N::Ref<'_>) -> Self {
        self.entry.truncate(self.key);
        append_namespace::<N>(self.entry, namespace);
        self
    }

    pub(super) fn void(self) -> Self {
        self.entry.truncate(self.key);
        append_void::<N>(self.entry);
        self
    }

    /// Has the function called when the watermark has come to `timestamp`; when that was before now, as soon as it
    /// advances again (TM-02). Registering it twice is registering it once (TM-01).
    pub fn register_event(&mut self, timestamp: i64) {
        self.register(TimerKind::Event, timestamp);
    }

    /// Has the function called when the clock has come to `timestamp`; when that was before now, at once (TM-03).
    pub fn register_processing(&mut self, timestamp: i64) {
        self.register(TimerKind::Processing, timestamp);
    }

    /// Forgets a timer of event time; one that is not there is none.
    pub fn delete_event(&mut self, timestamp: i64) {
        self.delete(TimerKind::Event, timestamp);
    }

    /// Forgets a timer of processing time; one that is not there is none.
    pub fn delete_processing(&mut self, timestamp: i64) {
        self.delete(TimerKind::Processing, timestamp);
    }

    fn register(&mut self, kind: TimerKind, timestamp: i64) {
        self.write_key(timestamp);
        let Self { kept, queues, group, hash, fault, .. } = self;
        let kept = &mut kept[queues.state(kind)];
        if let Err(source) = kept.backend.put(*group, &queues.key, &[]) {
            let state = kept.name.clone();
            fault.get_or_insert(StateFault::Backend { state, key: *hash, source });
            return;
        }
        let place = queues.place(*group);
        let lowest = &mut queues.lowest[kind as usize];
        if lowest.get(place).is_none_or(|bound| timestamp < bound) {
            lowest.set(place, Some(timestamp));
        }
    }

    fn delete(&mut self, kind: TimerKind, timestamp: i64) {
        self.write_key(timestamp);
        let Self { kept, queues, group, .. } = self;
        // The bound of the group is put right when it is come to.
        kept[queues.state(kind)].backend.remove(*group, &queues.key);
    }

    fn write_key(&mut self, timestamp: i64) {
        let key = &mut self.queues.key;
        key.clear();
        key.extend_from_slice(&to_bytes(timestamp));
        key.extend_from_slice(self.entry);
    }
}

/// A timer that is due.
#[derive(Debug)]
pub struct Timer<K> {
    kind: TimerKind,
    timestamp: i64,
    /// Key and namespace.
    place: Vec<u8>,
    of: PhantomData<fn() -> K>,
}

impl<K: Key> Default for Timer<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> Timer<K> {
    /// None yet: to be filled by [`States::next_timer`], again and again.
    pub fn new() -> Self {
        Self { kind: TimerKind::Event, timestamp: 0, place: Vec::new(), of: PhantomData }
    }

    /// Which time it waited for.
    pub fn kind(&self) -> TimerKind {
        self.kind
    }

    /// What it was registered for; it may be called later than that.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Its key, and the hash of that.
    pub fn key(&self) -> Option<(u64, K::Ref<'_>)> {
        K::parse(&self.place).ok().map(|(key, _)| (K::hash(key), key))
    }

    /// The namespace that it was registered in, none for the void one. `timers` is what it was registered with.
    pub fn namespace<N: Key>(&self, timers: Timers<N>) -> Option<N::Ref<'_>> {
        let _ = timers;
        let (_, used) = K::parse(&self.place).ok()?;
        let (_, namespace) = self.place[used..].split_first().filter(|(tag, _)| **tag == 1)?;
        N::parse(namespace).ok().map(|(namespace, _)| namespace)
    }
}

impl<K: Key> States<K> {
    /// Says how far event time has come. A watermark only rises; one that is not higher changes nothing. Then, and before
    /// the watermark is passed on, the timers up to it are to be [called](Self::next_timer).
    pub fn advance_watermark(&mut self, watermark: i64) {
        if let Some(queues) = &mut self.queues
            && watermark > queues.watermark
        {
            queues.watermark = watermark;
            queues.advancing = true;
        }
    }

    /// Takes the next timer that is due, in the order of time over all keys: of event time those up to the watermark,
    /// after it has [advanced](Self::advance_watermark) and until there are no more, so that what is registered later for an
    /// earlier time waits until it advances again; of processing time those up to [now](Self::set_time). Returns whether
    /// there is one.
    pub fn next_timer(&mut self, kind: TimerKind, timer: &mut Timer<K>) -> bool {
        let Self { queues: Some(queues), kept, now, fault, .. } = self else { return false };
        let kept = &mut kept[queues.state(kind)];
        let limit = match kind {
            TimerKind::Event if !queues.advancing => return false,
            TimerKind::Event => queues.watermark,
            TimerKind::Processing => i64::try_from(*now).unwrap_or(i64::MAX),
        };
        let due = queues.earliest(kept, kind, limit);
        if let Some((group, timestamp)) = due
            && let Some((key, _)) = kept.backend.first_from(group, &[])
        {
            queues.key.clear();
            queues.key.extend_from_slice(key);
            kept.backend.remove(group, &queues.key);
            timer.kind = kind;
            timer.timestamp = timestamp;
            timer.place.clear();
            timer.place.extend_from_slice(&queues.key[TIME..]);
            if let Err(cause) = K::parse(&timer.place) {
                unreadable(fault, kept, cause);
                return false;
            }
            return true;
        }
        if kind == TimerKind::Event {
            queues.advancing = false;
        }
        false
    }

    /// No timer of this kind is due before this moment; there is none at all when it is none. After
    /// [all that are due](Self::next_timer) were taken it is later than now.
    pub fn no_timer_before(&self, kind: TimerKind) -> Option<i64> {
        let queues = self.queues.as_ref()?;
        queues.lowest[kind as usize].min().map(|(bound, _)| bound)
    }
}

fn unreadable(fault: &mut Option<StateFault>, kept: &Kept, cause: DecodeError) {
    fault.get_or_insert_with(|| StateFault::Unreadable { state: kept.name.clone(), key: 0, cause });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_stand_in_the_order_of_time() {
        let times = [i64::MIN, -2, -1, 0, 1, 255, 256, i64::MAX];
        let bytes = times.map(to_bytes);
        assert!(bytes.is_sorted());
        assert_eq!(bytes.map(from_bytes), times);
        assert_eq!(to_bytes(0), [0x80, 0, 0, 0, 0, 0, 0, 0]);
    }
}
