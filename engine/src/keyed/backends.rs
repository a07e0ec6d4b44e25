//! What keeps the states of a keyed function.

use crate::task::BuildContext;
use millstream_state::paged::PagedFault;
use millstream_state::{HeapOrdered, KeyGroupRange, OrderedBackend, StateDescriptor};

/// Makes the backend of one state, as the configuration says.
pub(super) fn maker(
    _cx: &BuildContext<'_>,
) -> impl FnMut(&StateDescriptor, KeyGroupRange) -> Result<Box<dyn OrderedBackend>, PagedFault> + use<> {
    |_, range| Ok(Box::new(HeapOrdered::new(range)))
}
