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
    /// Bytes of copies that wait for their turn.
    kept: usize,
    chunks: Vec<(StateId, Chunk)>,
    flow: Arc<Flow>,
}

/// What came of a step.
pub(crate) struct Drained {
    /// Whether all states have been drained.
    pub complete: bool,
    /// How far they are, in bytes of memory, and how far they have to come.
    pub passed: (u64, u64),
    /// Bytes of memory that is left only when more is drained.
    pub kept: usize,
    /// What is finished of them, in order.
    pub chunks: Vec<(StateId, Chunk)>,
}

impl Draining {
    /// About so many bytes.
    pub(crate) fn new(budget: usize, flow: Arc<Flow>) -> Self {
        Self { budget, complete: true, passed: (0, 0), kept: 0, chunks: Vec::new(), flow }
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
        self.kept += state.kept_early();
    }

    /// What came of it.
    pub(crate) fn over(self) -> Drained {
        let Self { complete, passed, kept, chunks, .. } = self;
        Drained { complete, passed, kept, chunks }
    }
}
