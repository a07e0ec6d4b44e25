//! What subtasks report.

use super::JobState;
use super::supervisor::Supervisor;
use super::tally::RestoreProgress;
use crate::checkpoint::{Input, SubtaskId};
use crate::seed;
use crate::task::{Acknowledged, Message, Report};

impl Supervisor {
    pub(super) fn reported(&mut self, subtask: SubtaskId, report: Report) {
        let Some(attempt) = &mut self.attempt else { return };
        tracing::trace!(%subtask, ?report);
        match report {
            Report::Running => {
                attempt.running += 1;
                if attempt.running == attempt.len() {
                    self.all_running();
                }
            }
            Report::Acknowledged(id, payload, metrics) => {
                let ended = payload.ended;
                self.coordinate(Input::Ack { id, subtask, payload, ended, metrics });
            }
            Report::Declined(id, failure) => self.coordinate(Input::Decline { id, subtask, failure }),
            Report::Backlog(behind) => self.coordinate(Input::Backlog { subtask, behind }),
            Report::InputEnded => self.came_to_an_end(Input::InputEnded { subtask }),
            Report::EndOfData => self.came_to_an_end(Input::EndOfData { subtask }),
            Report::PreCommitted => {
                attempt.pre_committed += 1;
                if attempt.is_committing() {
                    attempt.tell_all(&Message::CommitAtEnd);
                }
            }
            Report::Committed => {
                attempt.committed += 1;
                if attempt.committed == attempt.len() {
                    attempt.tell_all(&Message::Close);
                }
            }
            Report::Closed => {
                attempt.closed += 1;
                let all = attempt.closed == attempt.len();
                self.coordinate(Input::Finished { subtask });
                if all {
                    self.ended();
                }
            }
            Report::Failed(error) => self.failed(error),
        }
    }

    fn came_to_an_end(&mut self, input: Input<Acknowledged>) {
        match &mut self.attempt {
            Some(attempt) if attempt.running < attempt.len() => attempt.early.push(input),
            _ => self.coordinate(input),
        }
    }

    /// The attempt begins: the coordinator learns of it, and of what came before.
    fn all_running(&mut self) {
        let Some(attempt) = &mut self.attempt else { return };
        let tasks = attempt.tasks.clone();
        let seed = seed::mix(self.parts.seed ^ attempt.number);
        let early = std::mem::take(&mut attempt.early);
        let base = self.base;
        let mut restored = RestoreProgress::default();
        self.parts.board.post(|posted| {
            posted.tally.opened(base);
            restored = posted.tally.restoring().into_iter().fold(restored, RestoreProgress::and);
        });
        if restored.bytes > 0 {
            let RestoreProgress { records_done, bytes_done, .. } = restored;
            let percent = restored.percent();
            tracing::info!(
                job = %self.parts.name,
                "keyed state restored: {records_done} keys, {bytes_done} bytes ({percent} %)"
            );
        }
        self.enter(JobState::Running);
        self.coordinate(Input::Started { tasks, seed });
        for input in early {
            self.coordinate(input);
        }
        for command in std::mem::take(&mut self.held) {
            self.commanded(command);
        }
    }
}
