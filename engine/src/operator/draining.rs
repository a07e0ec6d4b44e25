//! Frozen keyed state on its way out of the operators of a chain.

use crate::task::Flow;
use millstream_state::keyed::Chunk;
use millstream_state::snapshot::StateId;
use millstream_state::{OperatorId, Snapshots};
use std::sync::Arc;

/// One step of it: some more is to be encoded, and what is finished handed over.
///
/// The states of a chain have their turns one after the other, those of one operator in the order of their index, so that
/// what is handed over of one state is followed by more of the same until there is no more.
pub struct Draining {
    budget: usize,
    complete: bool,
    /// How far the states are, in bytes of memory, and how far they have to come.
    passed: (u64, u64),
    chunks: Vec<(StateId, Chunk)>,
    flow: Arc<Flow>,
}

impl Draining {
    /// About so many bytes.
    pub(crate) fn new(budget: usize, flow: Arc<Flow>) -> Self {
        Self { budget, complete: true, passed: (0, 0), chunks: Vec::new(), flow }
    }

    /// Drains a state, which is that of this index in the operator, if it is its turn.
    pub fn state(&mut self, operator: OperatorId, index: u16, state: &mut (impl Snapshots + ?Sized)) {
        if self.complete && state.is_frozen() {
            if !state.drain(0) {
                self.complete = state.drain(self.budget);
                // Those behind it are not to make this step much longer.
                self.budget /= 2;
            }
            while let Some(chunk) = state.take_chunk() {
                self.chunks.push(((operator, index), chunk));
                if let Some(buffer) = self.flow.buffer() {
                    state.recycle(buffer);
                }
            }
        }
        let (passed, all) = state.drained();
        self.passed = (self.passed.0 + passed, self.passed.1 + all);
    }

    /// Whether all states have been drained; how far they are; what is finished of them, in order.
    pub(crate) fn over(self) -> (bool, (u64, u64), Vec<(StateId, Chunk)>) {
        (self.complete, self.passed, self.chunks)
    }
}
