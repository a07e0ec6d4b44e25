//! What keeps the states of a keyed function.

use crate::task::BuildContext;
use millstream_state::paged::PagedFault;
use millstream_state::{Backend, HeapOrdered, KeyGroupRange, OrderedBackend, PagedOrdered, StateDescriptor};

/// Makes the backend of one state, as the configuration says.
pub(super) fn maker(
    cx: &BuildContext<'_>,
) -> impl FnMut(&StateDescriptor, KeyGroupRange) -> Result<Box<dyn OrderedBackend>, PagedFault> + use<> {
    let (settings, supply) = (cx.settings.clone(), cx.supply.clone());
    move |state, range| match (&settings.own_backend, settings.backend) {
        (Some(own), backend) => own.0.create(&StateDescriptor { backend, ..state.clone() }, range),
        (None, Backend::Paged) => {
            let state = PagedOrdered::new_in(range, supply.clone());
            Ok(Box::new(state.small_up_to(settings.small_state).chunks_of(settings.chunk)))
        }
        (None, _) => Ok(Box::new(HeapOrdered::new(range))),
    }
}
