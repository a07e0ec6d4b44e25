//! An operator that keeps records back and hands them on together.

use millstream::{Collector, Operator};

/// Hands numbers on in batches; before a barrier and at the end, those that it has.
#[derive(Clone, Default)]
pub struct Batch {
    held: Vec<u64>,
}

const SIZE: usize = 6;

impl Batch {
    fn hand_on(&mut self, out: &mut Collector<'_, u64>) {
        self.held.drain(..).for_each(|n| out.emit(n));
    }
}

impl Operator for Batch {
    type In = u64;
    type Out = u64;
    type State = ();

    fn process(&mut self, record: u64, out: &mut Collector<'_, u64>) {
        self.held.push(record);
        if self.held.len() == SIZE {
            self.hand_on(out);
        }
    }

    fn before_barrier(&mut self, out: &mut Collector<'_, u64>) {
        self.hand_on(out);
    }

    fn finish(&mut self, out: &mut Collector<'_, u64>) {
        self.hand_on(out);
    }
}
