//! What runs subtasks: pinned threads, or a simulation in one thread. Both call the same [`Cell::step`].

use crate::error::{Error, caught, drop_quietly};
use crate::task::{Progress, Report, Reporter, Subtask};
use millstream_io::clock::Moment;
use millstream_io::error::Class;
use millstream_io::waker::Waker;

/// Place of a subtask in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its task, counted over the job.
    pub task: usize,
    /// Its index in the task.
    pub subtask: usize,
    /// Name for threads and messages.
    pub name: String,
}

/// A subtask as a driver sees it: to be stepped until it is gone. Panics of user code end here.
pub struct Cell {
    /// None once it is dropped.
    subtask: Option<Box<dyn Subtask>>,
    reporter: Reporter,
    name: String,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// It did something: step again at once.
    Worked,
    /// Nothing to do: step again when woken, or at this moment at the latest.
    Idle(Option<Moment>),
    /// It is over, or it failed and has said so: drop it.
    Gone,
}

impl Cell {
    pub(crate) fn new(subtask: Box<dyn Subtask>, reporter: Reporter, name: String) -> Self {
        Self { subtask: Some(subtask), reporter, name }
    }

    /// The subtask's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ends the subtask as if it had failed by itself with this cause, for tests of what follows.
    pub fn fail(self, cause: &str) {
        self.failed(cause.to_owned());
    }

    fn failed(&self, cause: String) {
        let error = Error::new(Class::Restart, "operator", self.name.clone(), cause);
        self.reporter.report(Report::Failed(error));
    }

    /// Steps the subtask once. An error or a panic goes to the supervisor, and the subtask is gone.
    pub fn step(&mut self) -> Stepped {
        let Some(subtask) = &mut self.subtask else { return Stepped::Gone };
        match caught(|| subtask.step()) {
            Ok(Ok(Progress::Worked)) => Stepped::Worked,
            Ok(Ok(Progress::Idle(due) | Progress::Blocked(due))) => Stepped::Idle(due),
            Ok(Ok(Progress::Finished)) => Stepped::Gone,
            Ok(Err(error)) => {
                self.reporter.report(Report::Failed(error));
                Stepped::Gone
            }
            Err(text) => {
                self.failed(format!("panicked: {text}"));
                Stepped::Gone
            }
        }
    }
}

/// A panic ends here, too: one more that meets it on its way would be the end of the process.
impl Drop for Cell {
    fn drop(&mut self) {
        drop_quietly(&self.name, self.subtask.take());
    }
}

/// Runs the subtasks of one attempt after the other.
pub trait Driver: Send {
    /// The wakers of subtasks that are about to be built, in order.
    fn seat(&mut self, seats: &[Seat]) -> Vec<Waker>;

    /// Runs them, in the order of their seats.
    ///
    /// # Errors
    /// No thread can be had.
    fn start(&mut self, cells: Vec<Cell>) -> Result<(), Error>;

    /// Makes all subtasks stop after their current step, and waits until none runs any more.
    fn stop(&mut self);
}
