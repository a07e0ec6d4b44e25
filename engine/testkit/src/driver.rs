//! The driver of a simulation: keeps the subtasks for the schedule to step.

use millstream::Error;
use millstream::runtime::{Cell, Driver, Seat};
use millstream_io::waker::Waker;
use parking_lot::Mutex;
use std::sync::Arc;

/// The subtasks of the present attempt.
pub(crate) type Cells = Arc<Mutex<Vec<Cell>>>;

/// Hands the subtasks to the schedule. Nobody sleeps, so nobody is woken.
pub(crate) struct SimulationDriver(pub(crate) Cells);

impl Driver for SimulationDriver {
    fn seat(&mut self, seats: &[Seat]) -> Vec<Waker> {
        vec![Waker::nobody(); seats.len()]
    }

    fn start(&mut self, cells: Vec<Cell>) -> Result<(), Error> {
        *self.0.lock() = cells;
        Ok(())
    }

    fn stop(&mut self) {
        self.0.lock().clear();
    }
}
