//! What users want of a job, and what they are answered.

use super::JobState;
use super::attempt::Attempt;
use super::handle::{Command, not_taken};
use super::summary::CheckpointInfo;
use super::supervisor::Supervisor;
use crate::checkpoint::{CheckpointFailure, Input, RequestKind, Taken, Ticket};
use crate::error::Error;
use crossbeam_channel::Sender;

/// Who waits for a checkpoint that was asked for.
pub(super) enum Asked {
    /// A user who wants to know its path.
    Checkpoint(Sender<Result<CheckpointInfo, Error>>),
    /// The job's end.
    Stop {
        /// Whether the checkpoint is the user's to keep.
        keep: bool,
    },
}

impl Supervisor {
    pub(super) fn commanded(&mut self, command: Command) {
        let starting = matches!(self.state, JobState::Starting | JobState::Restarting);
        match command {
            // What needs running subtasks waits for them.
            Command::Checkpoint { .. } | Command::Stop { .. } if starting => self.held.push(command),
            Command::Checkpoint { full, reply } => {
                let ticket = self.ticket(Asked::Checkpoint(reply));
                self.coordinate(Input::Request { ticket, kind: RequestKind::Checkpoint { full } });
            }
            // The job ends by itself; should that fail, it is stopped after the restart.
            Command::Stop { .. } if self.attempt.as_ref().is_some_and(Attempt::is_finishing) => {
                self.held.push(command);
            }
            Command::Stop { keep } => {
                self.enter(JobState::Stopping);
                let ticket = self.ticket(Asked::Stop { keep });
                self.coordinate(Input::Request { ticket, kind: RequestKind::Stop });
            }
            Command::Cancel => self.cancelled(),
            Command::Abandon => self.abandoned(),
        }
    }

    fn ticket(&mut self, asked: Asked) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.asked.insert(ticket, asked);
        ticket
    }

    pub(super) fn answer(&mut self, ticket: Ticket, result: Result<Taken, CheckpointFailure>) {
        match (self.asked.remove(&ticket), result) {
            (Some(Asked::Checkpoint(reply)), Ok(Taken::Completed(id))) => {
                let info = CheckpointInfo {
                    id,
                    path: self.checkpoint_path(id),
                    completed_ms: self.parts.shared.clock.wall_ms(),
                };
                let _ = reply.send(Ok(info));
            }
            (Some(Asked::Checkpoint(reply)), Ok(Taken::Nothing)) => {
                let _ = reply.send(Err(not_taken(&self.parts.name, &CheckpointFailure::CheckpointingOff)));
            }
            (Some(Asked::Checkpoint(reply)), Err(failure)) => {
                let _ = reply.send(Err(not_taken(&self.parts.name, &failure)));
            }
            // The subtasks are being told to commit and close; the last of them ends the job.
            (Some(Asked::Stop { keep }), Ok(Taken::Completed(id))) => {
                self.stopped_at = Some(id);
                self.keep |= keep;
                // The attempt has failed while its last checkpoint was being stored.
                if let Some(error) = self.failure.take() {
                    self.stop_not_committed(id, &error);
                }
            }
            (Some(Asked::Stop { .. }), Ok(Taken::Nothing)) => self.stopped_without_checkpoint(),
            (Some(Asked::Stop { .. }), Err(failure)) => self.stop_failed(&failure),
            (None, _) => {}
        }
    }

    /// Answers everybody who still waits for a checkpoint.
    pub(super) fn answer_all(&mut self, failure: &CheckpointFailure) {
        for command in std::mem::take(&mut self.held) {
            if let Command::Checkpoint { reply, .. } = command {
                let _ = reply.send(Err(not_taken(&self.parts.name, failure)));
            }
        }
        for (_, asked) in self.asked.drain() {
            if let Asked::Checkpoint(reply) = asked {
                let _ = reply.send(Err(not_taken(&self.parts.name, failure)));
            }
        }
    }
}
