//! A running job in the hands of its user.

use super::board::Board;
use super::metrics::Metrics;
use super::summary::{CheckpointInfo, Summary};
use crate::checkpoint::CheckpointFailure;
use crate::error::Error;
use crate::task::ToSupervisor;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use millstream_io::error::Class;
use std::sync::Arc;

/// What somebody outside wants of a job.
#[derive(Debug)]
pub enum Command {
    /// A checkpoint now.
    Checkpoint {
        /// One that refers to no earlier checkpoint.
        full: bool,
        /// Where the answer goes.
        reply: Sender<Result<CheckpointInfo, Error>>,
    },
    /// A final checkpoint, then the end.
    Stop {
        /// The checkpoint is the user's: no later run deletes it.
        keep: bool,
    },
    /// The end, without one.
    Cancel,
    /// Stop everything, as a crash would: nothing is committed, nothing is deleted.
    Abandon,
}

/// Steers and observes a running job; may be cloned and used from any thread.
#[derive(Clone)]
pub struct JobControl {
    sender: Sender<ToSupervisor>,
    board: Arc<Board>,
    name: Arc<str>,
}

impl JobControl {
    pub(crate) fn new(sender: Sender<ToSupervisor>, board: Arc<Board>, name: Arc<str>) -> Self {
        Self { sender, board, name }
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the job has done up to now.
    pub fn metrics(&self) -> Metrics {
        self.board.metrics()
    }

    /// Takes a checkpoint now, whatever interval and pause say, and waits until it is complete (CP-12).
    ///
    /// # Errors
    /// Why there is none; without an interval checkpoints are off, and the error names the key.
    pub fn checkpoint(&self) -> Result<CheckpointInfo, Error> {
        self.request_checkpoint(false)?.wait()
    }

    /// The same, referring to no earlier checkpoint.
    ///
    /// # Errors
    /// As for [`JobControl::checkpoint`].
    pub fn full_checkpoint(&self) -> Result<CheckpointInfo, Error> {
        self.request_checkpoint(true)?.wait()
    }

    /// Asks for a checkpoint, `full` for one that refers to no earlier checkpoint, and does not wait.
    ///
    /// # Errors
    /// The job has ended.
    pub fn request_checkpoint(&self, full: bool) -> Result<CheckpointRequest, Error> {
        let (reply, answer) = bounded(1);
        self.send(Command::Checkpoint { full, reply })?;
        Ok(CheckpointRequest { answer, name: self.name.clone() })
    }

    /// Asks the job to suspend: a final checkpoint is taken, committed and kept, and the next start goes on from it
    /// (ruling 4). Returns at once; wait for the handle. Between two attempts there is nothing to take: the job ends with the
    /// newest checkpoint that it has.
    ///
    /// # Errors
    /// The job has ended.
    pub fn stop(&self) -> Result<(), Error> {
        self.send(Command::Stop { keep: false })
    }

    /// The same, and the final checkpoint is the user's to keep: the next start goes on from it in a line of its own,
    /// whose checkpoints do not replace it (ruling 3). When it is gone that start is refused. Between two attempts this is
    /// no more than [`JobControl::stop`].
    ///
    /// # Errors
    /// The job has ended.
    pub fn stop_and_keep(&self) -> Result<(), Error> {
        self.send(Command::Stop { keep: true })
    }

    /// Asks the job to end at once without a checkpoint. Its checkpoints are deleted unless
    /// `execution.checkpointing.externalized-checkpoint-retention` says otherwise.
    ///
    /// # Errors
    /// The job has ended.
    pub fn cancel(&self) -> Result<(), Error> {
        self.send(Command::Cancel)
    }

    /// Asks the job to end as dropping its handle does: as a crash would, nothing is committed and nothing deleted.
    /// Returns at once. The job has ended, and can be started again, when every subtask is through with its present step
    /// and background work with its own; at the latest after five seconds of the latter.
    ///
    /// # Errors
    /// The job has ended.
    pub fn abandon(&self) -> Result<(), Error> {
        self.send(Command::Abandon)
    }

    pub(crate) fn send(&self, command: Command) -> Result<(), Error> {
        self.sender.send(ToSupervisor::Command(command)).map_err(|_| self.ended())
    }

    fn ended(&self) -> Error {
        ended(&self.name)
    }
}

fn ended(name: &str) -> Error {
    Error::new(Class::Restart, "job", name, "has ended")
}

/// A checkpoint that was asked for: answered exactly once, also when the job ends before it is taken.
#[derive(Debug)]
pub struct CheckpointRequest {
    answer: Receiver<Result<CheckpointInfo, Error>>,
    name: Arc<str>,
}

impl CheckpointRequest {
    /// Waits for it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn wait(self) -> Result<CheckpointInfo, Error> {
        self.answer.recv().map_err(|_| ended(&self.name))?
    }

    /// The answer, once it is there. Not to be asked again after that.
    pub fn answer(&self) -> Option<Result<CheckpointInfo, Error>> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(ended(&self.name))),
        }
    }
}

/// A running job. Dropping the handle abandons the job as a crash would: its threads end soon, nothing is committed
/// and nothing deleted (ruling 4).
pub struct JobHandle {
    control: JobControl,
    outcome: Receiver<Result<Summary, Error>>,
    start: String,
    waited: bool,
}

impl JobHandle {
    pub(crate) fn new(control: JobControl, outcome: Receiver<Result<Summary, Error>>, start: String) -> Self {
        Self { control, outcome, start, waited: false }
    }

    /// What the job began with, in words: `resuming from …`, `starting from …`, `starting without state …`.
    pub fn start_line(&self) -> &str {
        &self.start
    }

    /// Something to steer the job with from other threads.
    pub fn control(&self) -> JobControl {
        self.control.clone()
    }

    /// Waits for the job's end.
    ///
    /// # Errors
    /// The job failed for good.
    pub fn wait(mut self) -> Result<Summary, Error> {
        self.waited = true;
        self.outcome.recv().map_err(|_| self.control.ended())?
    }

    /// Suspends the job and waits for its end: a final checkpoint is taken, committed and kept (ruling 4).
    ///
    /// # Errors
    /// The final checkpoint failed, or the job did.
    pub fn stop(self) -> Result<Summary, Error> {
        // A job that has ended by itself has an outcome all the same.
        let _ = self.control.stop();
        self.wait()
    }

    /// Ends the job without a checkpoint and waits for its end.
    ///
    /// # Errors
    /// The job had failed before.
    pub fn cancel(self) -> Result<Summary, Error> {
        let _ = self.control.cancel();
        self.wait()
    }

    /// Takes a checkpoint now; see [`JobControl::checkpoint`].
    ///
    /// # Errors
    /// Why there is none.
    pub fn checkpoint(&self) -> Result<CheckpointInfo, Error> {
        self.control.checkpoint()
    }

    /// What the job has done up to now.
    pub fn metrics(&self) -> Metrics {
        self.control.metrics()
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        if !self.waited {
            let _ = self.control.abandon();
        }
    }
}

/// A checkpoint that a user asked for and did not get.
pub(crate) fn not_taken(job: &str, failure: &CheckpointFailure) -> Error {
    let error = Error::new(Class::Restart, "checkpoint", job, failure.to_string());
    match failure {
        CheckpointFailure::CheckpointingOff => {
            error.with_hint("start the job again with an interval, 10s for example")
        }
        _ => error,
    }
}
