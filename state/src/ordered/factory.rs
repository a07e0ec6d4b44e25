//! Where ordered state comes from.

use super::OrderedBackend;
use crate::descriptor::StateDescriptor;
use crate::key_group::KeyGroupRange;
use crate::paged::PagedFault;

/// Makes backends of one sort: how a program brings its own (BE-01).
pub trait BackendFactory: Send + Sync + 'static {
    /// What is to keep this state for these key groups, with nothing in it. Called once for each state of each subtask, of
    /// each attempt. What was made for an earlier attempt may still be there when that was abandoned.
    ///
    /// # Errors
    /// What makes it impossible; [`PagedFault::Own`] for reasons of its own.
    fn create(
        &self,
        state: &StateDescriptor,
        groups: KeyGroupRange,
    ) -> Result<Box<dyn OrderedBackend>, PagedFault>;
}
