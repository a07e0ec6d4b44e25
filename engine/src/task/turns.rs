//! Snapshots of one subtask that build on one another are completed in the order in which they were taken, in whatever
//! order their writing ends. What merges them takes its turn among them.

use super::dropped::Dropped;
use super::merging::{Merge, Workshop};
use crate::error::Error;
use millstream_io::error::Class;
use millstream_io::id::CheckpointId;
use millstream_state::keyed::Extent;
use millstream_state::snapshot::{Chain, Merged, StateId, WrittenSnapshot};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// After so many merges in a row that have failed, others are not counted on.
const MANY_FAILURES: u32 = 3;

/// What a keyed state's part of a snapshot is.
pub(super) type Extents = Vec<(StateId, Extent)>;

/// What became of the writing of a snapshot.
pub(super) type Outcome = Result<WrittenSnapshot, Error>;

/// Gives out turns.
pub(crate) struct Turns {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    given: Mutex<Given>,
    order: Mutex<Order>,
    /// The next snapshot has to be one of everything. Asked without order: what comes too late for one snapshot counts for the
    /// next, and until then the chain takes no changes.
    base_wanted: AtomicBool,
    /// What the chain has dropped.
    dropped: Mutex<Dropped>,
    /// Where older snapshots are merged, if they are.
    workshop: Option<Arc<Workshop>>,
    /// A merge is under way.
    merging: AtomicBool,
    /// Merges that have failed since the last one that did not.
    failed: AtomicU32,
    /// Nobody takes snapshots any more.
    over: AtomicBool,
}

/// Turns that were given out, and the newest snapshot among them.
struct Given {
    count: u64,
    newest: CheckpointId,
}

#[derive(Default)]
struct Order {
    next: u64,
    chain: Chain,
    waiting: BTreeMap<u64, Done>,
    merges: u64,
}

/// What was done in a turn.
enum Done {
    /// A snapshot has been written, or not.
    Snapshot {
        outcome: Outcome,
        extents: Extents,
        finish: Box<dyn FnOnce(Outcome) + Send>,
    },
    /// Snapshots were merged.
    Merge(Merged, Busy),
    Nothing,
    /// Nobody knows: whatever the snapshot had is missing from what follows.
    Lost,
}

impl Turns {
    /// With a place where older snapshots are merged; without, they are not.
    pub fn new(workshop: Option<Workshop>) -> Self {
        let shared = Shared {
            given: Mutex::new(Given { count: 0, newest: CheckpointId(0) }),
            order: Mutex::default(),
            base_wanted: AtomicBool::new(false),
            dropped: Mutex::default(),
            workshop: workshop.map(Arc::new),
            merging: AtomicBool::new(false),
            failed: AtomicU32::new(0),
            over: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The chain that the next snapshot builds on, before there is one, unless that has to be one of everything.
    pub fn go_on(&mut self, chain: Chain, base_wanted: bool) {
        self.shared.order.lock().chain = chain;
        self.shared.base_wanted.store(base_wanted, Ordering::Relaxed);
    }

    /// The turn of the next snapshot, which has this number.
    pub(super) fn next(&mut self, id: CheckpointId) -> Turn {
        let mut given = self.shared.given.lock();
        given.newest = id;
        self.shared.dropped.lock().begun(id);
        Shared::give(&self.shared, &mut given, true)
    }

    /// This checkpoint was aborted.
    pub(super) fn aborted(&self, id: CheckpointId) {
        self.shared.dropped.lock().aborted(id);
        self.shared.remove_dropped();
    }

    /// This checkpoint is complete.
    pub(super) fn completed(&self, id: CheckpointId) {
        self.shared.dropped.lock().completed(id);
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether the next snapshot has to be one of everything: because one before it is lost, or the chain has grown long.
    /// Answers so once.
    pub fn take_base_wanted(&self) -> bool {
        self.shared.base_wanted.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// A turn for something that is no snapshot, and the number of the newest one before it.
    pub fn turn(shared: &Arc<Self>) -> (Turn, CheckpointId) {
        let mut given = shared.given.lock();
        (Self::give(shared, &mut given, false), given.newest)
    }

    fn give(shared: &Arc<Self>, given: &mut Given, snapshot: bool) -> Turn {
        given.count += 1;
        Turn { number: given.count - 1, shared: shared.clone(), snapshot, over: false }
    }

    /// Whether nobody takes snapshots any more.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn extend(&self, chain: &mut Chain, outcome: Outcome, extents: &Extents) -> Outcome {
        let outcome = outcome.and_then(|mut written| match chain.extend(&mut written, extents) {
            Ok(()) => Ok(written),
            Err(broken) => Err(Error::new(Class::Restart, "snapshot", "keyed state", broken)),
        });
        let chained = extents.iter().any(|(_, extent)| *extent != Extent::Whole);
        if outcome.is_err() && chained {
            chain.break_off();
        }
        let failing = self.workshop.is_none() || self.failed.load(Ordering::Relaxed) >= MANY_FAILURES;
        if chained && (outcome.is_err() || chain.is_long(failing)) {
            self.base_wanted.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Notes what the chain has dropped.
    fn note_dropped(&self, chain: &mut Chain) {
        let names = chain.take_dropped();
        if !names.is_empty() {
            let newest = self.given.lock().newest;
            let mut dropped = self.dropped.lock();
            names.into_iter().for_each(|name| dropped.add(name, newest));
        }
    }

    /// Has those files removed that are nobody's. A merge under way may still read what it has been told of.
    fn remove_dropped(&self) {
        let Some(workshop) = self.workshop.as_ref().filter(|_| !self.merging.load(Ordering::Relaxed)) else {
            return;
        };
        let names = self.dropped.lock().take();
        if !names.is_empty() {
            workshop.remove_all(names);
        }
    }

    /// Begins a merge, unless one is under way or there is nothing to merge.
    fn merge_some(self: &Arc<Self>) {
        let Some(workshop) = self.workshop.as_ref().filter(|_| !self.is_over()) else { return };
        let (plan, nth) = {
            let mut order = self.order.lock();
            if self.merging.load(Ordering::Relaxed) {
                return;
            }
            let Some(plan) = order.chain.to_merge() else { return };
            self.merging.store(true, Ordering::Relaxed);
            order.merges += 1;
            (plan, order.merges)
        };
        let newest = self.given.lock().newest;
        Merge::begin(self.clone(), workshop.clone(), plan, newest, nth);
    }
}

/// A merge is under way as long as this is there.
pub(super) struct Busy(Arc<Shared>);

impl Busy {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// It has failed.
    pub fn failed(self) {
        self.0.failed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.merging.store(false, Ordering::Relaxed);
    }
}

/// The turn of one snapshot, or of a merge. A snapshot whose turn is dropped without having been completed counts as lost.
pub(super) struct Turn {
    number: u64,
    shared: Arc<Shared>,
    snapshot: bool,
    over: bool,
}

impl Turn {
    /// The writing has ended. `finish` gets the outcome, with all that the snapshot builds on, once those before it have been
    /// completed: perhaps at once, perhaps by whoever completes the last of them.
    pub fn complete(self, outcome: Outcome, extents: Extents, finish: impl FnOnce(Outcome) + Send + 'static) {
        self.done(Done::Snapshot { outcome, extents, finish: Box::new(finish) });
    }

    /// Snapshots that were there before were merged: those that follow name what they have become.
    pub fn replace(self, merged: Merged, busy: Busy) {
        self.done(Done::Merge(merged, busy));
    }

    /// There was nothing to do.
    pub fn skip(self) {
        self.done(Done::Nothing);
    }

    fn done(mut self, done: Done) {
        self.over = true;
        self.settle(done);
    }

    fn settle(&self, done: Done) {
        self.take_turns(done);
        // Behind all reports.
        self.shared.remove_dropped();
        self.shared.merge_some();
    }

    fn take_turns(&self, done: Done) {
        let mut order = self.shared.order.lock();
        order.waiting.insert(self.number, done);
        loop {
            let next = order.next;
            let Some(done) = order.waiting.remove(&next) else { return };
            order.next += 1;
            match done {
                Done::Snapshot { outcome, extents, finish } => {
                    finish(self.shared.extend(&mut order.chain, outcome, &extents));
                }
                Done::Merge(merged, busy) => {
                    // Where what was merged is gone there is a new base, and the file is nobody's.
                    order.chain.replace(merged);
                    self.shared.failed.store(0, Ordering::Relaxed);
                    drop(busy);
                }
                Done::Nothing => {}
                Done::Lost => {
                    order.chain.break_off();
                    self.shared.base_wanted.store(true, Ordering::Relaxed);
                }
            }
            self.shared.note_dropped(&mut order.chain);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.over {
            self.settle(if self.snapshot { Done::Lost } else { Done::Nothing });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_state::OperatorId;
    use millstream_state::metadata::{FileEntry, GroupForm, Handle, KeyedHandle, SubtaskState};

    const STATE: (u128, u16) = (7, 0);

    fn id() -> OperatorId {
        OperatorId::from_bits(STATE.0)
    }

    /// A snapshot of one state of so many bytes, in a shared file of its own.
    fn written(name: &str, len: u64) -> WrittenSnapshot {
        let name: Arc<str> = format!("../shared/{name}").into();
        let data = Handle::File { name: name.clone(), offset: 0, len };
        let keyed = vec![KeyedHandle { state: STATE.1, groups: Vec::new(), data, form: GroupForm::Backend }];
        let state = SubtaskState { finished: false, keyed, lists: Vec::new() };
        WrittenSnapshot { operators: vec![(id(), state)], files: vec![FileEntry { name, len, crc: 0 }] }
    }

    struct Subject {
        turns: Turns,
        next: u64,
        /// What was finished: the files that it names, or nothing.
        finished: Arc<Mutex<Vec<Option<Vec<String>>>>>,
    }

    impl Subject {
        fn new() -> Self {
            Self { turns: Turns::new(None), next: 0, finished: Arc::default() }
        }

        fn turn(&mut self) -> Turn {
            self.next += 1;
            self.turns.next(CheckpointId(self.next))
        }

        fn complete(&self, turn: Turn, extent: Extent, outcome: Outcome) {
            let finished = self.finished.clone();
            turn.complete(outcome, vec![((id(), STATE.1), extent)], move |outcome| {
                let names = outcome.ok().map(|written| {
                    let state = &written.operators[0].1;
                    assert_eq!(state.keyed.len(), written.files.len());
                    written.files.iter().map(|file| file.name["../shared/".len()..].to_owned()).collect()
                });
                finished.lock().push(names);
            });
        }

        fn take(&self) -> Vec<Option<Vec<String>>> {
            std::mem::take(&mut self.finished.lock())
        }
    }

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(ToString::to_string).collect())
    }

    fn lost() -> Outcome {
        Err(Error::new(Class::Restart, "write", "file", "no space"))
    }

    #[test]
    fn a_snapshot_waits_for_those_that_it_builds_on() {
        let mut subject = Subject::new();
        let turns = [(); 3].map(|()| subject.turn());
        let [first, second, third] = turns;
        subject.complete(third, Extent::Changes, Ok(written("c", 1)));
        subject.complete(second, Extent::Changes, Ok(written("b", 1)));
        assert_eq!(subject.take(), []);
        subject.complete(first, Extent::Base, Ok(written("a", 100)));
        assert_eq!(subject.take(), [names(&["a"]), names(&["a", "b"]), names(&["a", "b", "c"])]);
        assert!(!subject.turns.take_base_wanted());
        let next = subject.turn();
        subject.complete(next, Extent::Base, Ok(written("d", 100)));
        assert_eq!(subject.take(), [names(&["d"])], "a base stands alone");
    }

    #[test]
    fn behind_a_lost_snapshot_nothing_counts_until_there_is_a_base() {
        let mut subject = Subject::new();
        let turns = [(); 4].map(|()| subject.turn());
        let [first, second, third, dropped] = turns;
        subject.complete(first, Extent::Base, Ok(written("a", 100)));
        subject.complete(second, Extent::Changes, lost());
        // Frozen before anybody knew.
        subject.complete(third, Extent::Changes, Ok(written("c", 1)));
        assert_eq!(subject.take(), [names(&["a"]), None, None]);
        assert!(subject.turns.take_base_wanted() && !subject.turns.take_base_wanted());
        drop(dropped);
        assert!(subject.turns.take_base_wanted(), "what was dropped is lost as well");
        // Lost before those ahead of it have ended.
        let (base, dropped, behind) = (subject.turn(), subject.turn(), subject.turn());
        drop(dropped);
        subject.complete(behind, Extent::Changes, Ok(written("y", 1)));
        subject.complete(base, Extent::Base, Ok(written("x", 100)));
        assert_eq!(subject.take(), [names(&["x"]), None]);
        assert!(subject.turns.take_base_wanted());
        let (base, skipped, next) = (subject.turn(), subject.turn(), subject.turn());
        subject.complete(base, Extent::Base, Ok(written("d", 100)));
        skipped.skip();
        subject.complete(next, Extent::Changes, Ok(written("e", 1)));
        assert_eq!(subject.take(), [names(&["d"]), names(&["d", "e"])]);
    }

    #[test]
    fn a_base_is_wanted_when_the_changes_have_outgrown_it() {
        let mut subject = Subject::new();
        for (name, extent, len) in
            [("a", Extent::Base, 100), ("b", Extent::Changes, 60), ("c", Extent::Changes, 40)]
        {
            let turn = subject.turn();
            subject.complete(turn, extent, Ok(written(name, len)));
            assert!(!subject.turns.take_base_wanted(), "{name}");
        }
        let turn = subject.turn();
        subject.complete(turn, Extent::Changes, Ok(written("d", 1)));
        assert!(subject.turns.take_base_wanted());
    }
}
