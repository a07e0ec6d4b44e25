//! An operator with list state.

use millstream::{Collector, ConnectorError, Operator, OperatorContext};

/// Hands numbers on as lines, and emits at the end a line for each that it has seen.
#[derive(Clone, Default)]
pub struct Tally {
    seen: u64,
    closing: bool,
}

impl Tally {
    /// One that also says that it ends.
    pub fn closing() -> Self {
        Self { closing: true, ..Self::default() }
    }
}

impl Operator for Tally {
    type In = u64;
    type Out = Vec<u8>;
    type State = u64;

    fn open(&mut self, _: OperatorContext, restored: Vec<u64>) -> Result<(), ConnectorError> {
        self.seen = restored.into_iter().sum();
        Ok(())
    }

    fn process(&mut self, record: u64, out: &mut Collector<'_, Vec<u8>>) {
        self.seen += 1;
        out.emit(format!("record {record}").as_bytes());
    }

    fn snapshot(&mut self) -> Vec<u64> {
        vec![self.seen]
    }

    fn finish(&mut self, out: &mut Collector<'_, Vec<u8>>) {
        // One by one, so that the lines are the same however the records were shared out.
        (0..self.seen).for_each(|_| out.emit(b"seen"));
        if self.closing {
            out.emit(b"the end");
        }
    }
}
