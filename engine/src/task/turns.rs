//! Snapshots of one subtask that build on one another are completed in the order in which they were taken, in whatever
//! order their writing ends.

use crate::error::Error;
use millstream_io::error::Class;
use millstream_state::keyed::Extent;
use millstream_state::snapshot::{Chain, StateId, WrittenSnapshot};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a keyed state's part of a snapshot is.
pub(super) type Extents = Vec<(StateId, Extent)>;

/// What became of the writing of a snapshot.
pub(super) type Outcome = Result<WrittenSnapshot, Error>;

/// Gives out turns.
#[derive(Default)]
pub(crate) struct Turns {
    given: u64,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    order: Mutex<Order>,
    /// The next snapshot has to be one of everything.
    base_wanted: AtomicBool,
}

#[derive(Default)]
struct Order {
    next: u64,
    chain: Chain,
    waiting: BTreeMap<u64, Done>,
}

/// A snapshot that has been written, or not.
struct Done {
    outcome: Option<Outcome>,
    extents: Extents,
    finish: Box<dyn FnOnce(Outcome) + Send>,
}

impl Turns {
    /// The turn of the next snapshot.
    pub(super) fn next(&mut self) -> Turn {
        self.given += 1;
        Turn { number: self.given - 1, shared: self.shared.clone(), over: false }
    }

    /// Whether the next snapshot has to be one of everything: because one before it is lost, or the chain has grown long.
    /// Answers so once.
    pub fn take_base_wanted(&self) -> bool {
        self.shared.base_wanted.swap(false, Ordering::Relaxed)
    }
}

/// The turn of one snapshot. One that is dropped without having been completed counts as lost.
pub(super) struct Turn {
    number: u64,
    shared: Arc<Shared>,
    over: bool,
}

impl Turn {
    /// The writing has ended. `finish` gets the outcome, with all that the snapshot builds on, once those before it have been
    /// completed: perhaps at once, perhaps by whoever completes the last of them.
    pub fn complete(
        mut self,
        outcome: Outcome,
        extents: Extents,
        finish: impl FnOnce(Outcome) + Send + 'static,
    ) {
        self.done(Done { outcome: Some(outcome), extents, finish: Box::new(finish) });
    }

    /// There was nothing to write.
    pub fn skip(mut self) {
        self.done(Done { outcome: None, extents: Vec::new(), finish: Box::new(|_| ()) });
    }

    fn done(&mut self, done: Done) {
        self.over = true;
        let mut order = self.shared.order.lock();
        order.waiting.insert(self.number, done);
        loop {
            let next = order.next;
            let Some(done) = order.waiting.remove(&next) else { return };
            order.next += 1;
            let Some(outcome) = done.outcome else { continue };
            let outcome = self.extend(&mut order.chain, outcome, &done.extents);
            (done.finish)(outcome);
        }
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
        if chained && (outcome.is_err() || chain.is_long()) {
            self.shared.base_wanted.store(true, Ordering::Relaxed);
        }
        outcome
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.over {
            let lost = Error::new(Class::Restart, "snapshot", "keyed state", "it was not written");
            // Whatever it had is missing from what follows.
            self.shared.order.lock().chain.break_off();
            self.shared.base_wanted.store(true, Ordering::Relaxed);
            self.done(Done { outcome: Some(Err(lost)), extents: Vec::new(), finish: Box::new(|_| ()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_state::OperatorId;
    use millstream_state::metadata::{FileEntry, Handle, KeyedHandle, SubtaskState};

    const STATE: (u128, u16) = (7, 0);

    fn id() -> OperatorId {
        OperatorId::from_bits(STATE.0)
    }

    /// A snapshot of one state of so many bytes, in a shared file of its own.
    fn written(name: &str, len: u64) -> WrittenSnapshot {
        let name: Arc<str> = format!("../shared/{name}").into();
        let data = Handle::File { name: name.clone(), offset: 0, len };
        let keyed = vec![KeyedHandle { state: STATE.1, groups: Vec::new(), data }];
        let state = SubtaskState { finished: false, keyed, lists: Vec::new() };
        WrittenSnapshot { operators: vec![(id(), state)], files: vec![FileEntry { name, len, crc: 0 }] }
    }

    struct Subject {
        turns: Turns,
        /// What was finished: the files that it names, or nothing.
        finished: Arc<Mutex<Vec<Option<Vec<String>>>>>,
    }

    impl Subject {
        fn new() -> Self {
            Self { turns: Turns::default(), finished: Arc::default() }
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
        let turns = [(); 3].map(|()| subject.turns.next());
        let [first, second, third] = turns;
        subject.complete(third, Extent::Changes, Ok(written("c", 1)));
        subject.complete(second, Extent::Changes, Ok(written("b", 1)));
        assert_eq!(subject.take(), []);
        subject.complete(first, Extent::Base, Ok(written("a", 100)));
        assert_eq!(subject.take(), [names(&["a"]), names(&["a", "b"]), names(&["a", "b", "c"])]);
        assert!(!subject.turns.take_base_wanted());
        let next = subject.turns.next();
        subject.complete(next, Extent::Base, Ok(written("d", 100)));
        assert_eq!(subject.take(), [names(&["d"])], "a base stands alone");
    }

    #[test]
    fn behind_a_lost_snapshot_nothing_counts_until_there_is_a_base() {
        let mut subject = Subject::new();
        let turns = [(); 4].map(|()| subject.turns.next());
        let [first, second, third, dropped] = turns;
        subject.complete(first, Extent::Base, Ok(written("a", 100)));
        subject.complete(second, Extent::Changes, lost());
        // Frozen before anybody knew.
        subject.complete(third, Extent::Changes, Ok(written("c", 1)));
        assert_eq!(subject.take(), [names(&["a"]), None, None]);
        assert!(subject.turns.take_base_wanted() && !subject.turns.take_base_wanted());
        drop(dropped);
        assert!(subject.turns.take_base_wanted(), "what was dropped is lost as well");
        let (base, skipped, next) = (subject.turns.next(), subject.turns.next(), subject.turns.next());
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
            let turn = subject.turns.next();
            subject.complete(turn, extent, Ok(written(name, len)));
            assert!(!subject.turns.take_base_wanted(), "{name}");
        }
        let turn = subject.turns.next();
        subject.complete(turn, Extent::Changes, Ok(written("d", 1)));
        assert!(subject.turns.take_base_wanted());
    }
}
