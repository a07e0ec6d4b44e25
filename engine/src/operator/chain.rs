//! What an operator sees below itself, and how a chain of them is built.

use super::Signal;
use crate::error::Error;
use crate::task::{BuildContext, Subtask};
use millstream_io::Record;
use millstream_io::emit::Emit;

/// What every part of a chain answers to besides records.
pub trait Control {
    /// Handles a signal and passes it on. The order of "own work" and "pass on" is the order of the chain: what must
    /// happen head to tail comes before passing on, what must happen tail to head after (CP-23, BR-11).
    ///
    /// # Errors
    /// The attempt fails.
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error>;

    /// Hands partial segments over to the next subtasks. Were there any?
    fn flush(&mut self) -> bool;

    /// Tries to hand overdraft over. Is none left, so that the subtask may take input?
    fn ready(&mut self) -> bool;
}

/// The rest of a chain as the operator above sees it: takes records and, in order with them, signals.
pub trait Stage<T: Record>: Emit<T> + Control + Send + 'static {}

impl<T: Record, S: Emit<T> + Control + Send + 'static> Stage<T> for S {}

/// Description of a chain from its head to an operator; cloned for every subtask and every attempt.
pub trait Chain: Clone + Send + 'static {
    /// What the last operator emits.
    type Out: Record;

    /// Builds the chain above `below` for one subtask.
    ///
    /// # Errors
    /// What makes a start impossible.
    fn build<S: Stage<Self::Out>>(
        self,
        cx: &mut BuildContext<'_>,
        below: S,
    ) -> Result<Box<dyn Subtask>, Error>;
}
