//! Where a user function puts its results.

use crate::task::Fault;
use millstream_io::Record;
use millstream_io::counters::Counters;
use millstream_io::emit::Emit;
use millstream_io::error::ConnectorError;

/// Takes the results of a user function: any number of records, or an error.
///
/// The dynamic call is gone where the function is inlined, which it is in a chain: the compiler sees the stage behind.
pub struct Collector<'a, U: Record> {
    below: &'a mut dyn Emit<U>,
    fault: &'a Fault,
    counters: &'a Counters,
}

impl<'a, U: Record> Collector<'a, U> {
    #[inline(always)]
    pub(crate) fn new(below: &'a mut dyn Emit<U>, fault: &'a Fault, counters: &'a Counters) -> Self {
        Self { below, fault, counters }
    }

    /// Hands a record on.
    #[inline(always)]
    pub fn emit(&mut self, record: U::Ref<'_>) {
        self.below.emit(record);
    }

    /// Whether what is emitted waits for room.
    pub(crate) fn is_full(&self) -> bool {
        self.below.is_full()
    }

    /// Fails the attempt with this error; its class says whether the job may be restarted. Records of the current
    /// batch that follow may still be processed, their results are discarded.
    #[cold]
    pub fn fail(&mut self, error: ConnectorError) {
        self.fault.raise(error.into());
    }

    /// The subtask's counters, to count a record as rejected.
    pub fn counters(&self) -> &Counters {
        self.counters
    }
}
