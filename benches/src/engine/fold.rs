//! A sink that folds what it receives into three numbers.

use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::{CheckpointId, ConnectorError, Record, Sink};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// What is folded into.
pub type Sums = [u64; 3];

/// Calls `F` with every record and the subtask's sums, which are added up at the end.
pub struct Fold<T, F> {
    step: F,
    mine: Sums,
    all: Arc<Mutex<Sums>>,
    of: PhantomData<fn(T)>,
}

impl<T, F: Clone> Clone for Fold<T, F> {
    fn clone(&self) -> Self {
        Self { step: self.step.clone(), mine: self.mine, all: Arc::clone(&self.all), of: PhantomData }
    }
}

impl<T, F> Fold<T, F>
where
    T: Record,
    F: for<'a> FnMut(&mut Sums, T::Ref<'a>) + Clone + Send + 'static,
{
    /// A sink that calls `step`.
    pub fn new(step: F) -> Self {
        Self { step, mine: Sums::default(), all: Arc::default(), of: PhantomData }
    }

    /// The sums of all subtasks of a job that has finished.
    pub fn sums(&self) -> Sums {
        *self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, F> Sink for Fold<T, F>
where
    T: Record,
    F: for<'a> FnMut(&mut Sums, T::Ref<'a>) + Clone + Send + 'static,
{
    type In = T;
    type State = ();

    fn open(&mut self, _: SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        Ok(())
    }

    #[inline(always)]
    fn write(&mut self, record: T::Ref<'_>) -> Result<(), ConnectorError> {
        (self.step)(&mut self.mine, record);
        Ok(())
    }

    fn pre_commit(&mut self, _: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        Ok(PreCommit { state: Vec::new(), work: None })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for (all, mine) in all.iter_mut().zip(std::mem::take(&mut self.mine)) {
            *all = all.wrapping_add(mine);
        }
        Ok(())
    }
}
