//! What all tests of jobs have in common, by hand or on threads.

use millstream::sink::{DurableWork, Epoch, PreCommit, SinkContext};
use millstream::{CheckpointId, ConnectorError, Sink};

/// A sink of numbers that keeps none of them. What it has to do before a commit the function says.
#[derive(Clone)]
pub struct Discard<F>(F);

impl<F: FnMut(Epoch) -> Option<DurableWork>> Discard<F> {
    pub fn new(work: F) -> Self {
        Self(work)
    }
}

impl<F> Sink for Discard<F>
where
    F: FnMut(Epoch) -> Option<DurableWork> + Clone + Send + 'static,
{
    type In = u64;
    type State = ();

    fn open(&mut self, _: SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn write(&mut self, _: u64) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        Ok(PreCommit { state: Vec::new(), work: (self.0)(epoch) })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        Ok(())
    }
}
