//! Frozen keyed state on its way out of the operators of a chain.

use millstream_state::{OperatorId, Snapshots};

/// One step of it: some more is to be encoded.
///
/// The states of a chain have their turns one after the other, those of one operator in the order of their index, so that
/// what is handed over of one state is followed by more of the same until there is no more.
pub struct Draining {
    budget: usize,
    complete: bool,
}

impl Draining {
    /// About so many bytes.
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, complete: true }
    }

    /// Whether all states have been drained.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Drains a state, which is that of this index in the operator, if it is its turn.
    pub fn state(&mut self, _operator: OperatorId, _index: u16, state: &mut impl Snapshots) {
        if self.complete && !state.drain(0) {
            self.complete = state.drain(self.budget);
            // Those behind it are not to make this step much longer.
            self.budget /= 2;
        }
    }
}
