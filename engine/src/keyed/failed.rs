//! State that could not be kept, as an error of the operator.

use crate::error::Error;
use millstream_io::error::Class;
use millstream_io::scratch::ScratchError;
use millstream_state::OperatorId;
use millstream_state::kinds::StateFault;
use millstream_state::paged::PagedFault;

/// What to do where there is no room for a file.
const ROOM: &str = "make room there, name another directory with task.local-dir, or allow more memory with state.backend.paged.memory";

/// What to do where there is no memory.
const MEMORY: &str = "allow less memory with state.backend.paged.memory: state beyond it is in files";

/// The state of a process function could not be kept.
pub(super) fn failed(operator: OperatorId, fault: PagedFault) -> Error {
    let (class, hint) = verdict(&fault);
    hinted(Error::new(class, "keyed state", format!("operator {operator}"), fault), hint)
}

/// A state of a keyed function could not be kept, or read.
pub(super) fn function_failed(operator: OperatorId, fault: StateFault) -> Error {
    let (class, hint) = match &fault {
        StateFault::Backend { source, .. } | StateFault::Lost { source, .. } => verdict(source),
        StateFault::ListTooLong { .. } => (Class::Data, None),
        _ => (Class::Fatal, None),
    };
    hinted(Error::new(class, "keyed state", format!("operator {operator}"), fault), hint)
}

fn verdict(fault: &PagedFault) -> (Class, Option<&'static str>) {
    match fault {
        PagedFault::Memory(ScratchError::File(_)) => (Class::Restart, Some(ROOM)),
        PagedFault::Memory(_) => (Class::Restart, Some(MEMORY)),
        PagedFault::Own(_) => (Class::Restart, None),
        _ => (Class::Data, None),
    }
}

fn hinted(error: Error, hint: Option<&'static str>) -> Error {
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
