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
