//! A running job as its control socket and its supervisor see it.

use crate::control::Control;
use crate::control::protocol::{
    Counts, Entry, Fault, History, LastCheckpoint, Reply, Request, Restored, Status,
};
use crate::progress::Seen;
use crate::supervise::{Event, Watched};
use millstream::checkpoint::{CheckpointKind, CheckpointRecord, CheckpointStatus};
use millstream::{JobControl, JobState, Metrics};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A running job.
pub(crate) struct Steered {
    /// The engine's own handle.
    pub control: JobControl,
    /// 32 hex digits.
    pub job_id: String,
    /// Default parallelism.
    pub parallelism: u32,
    /// When it was started, in ms since the epoch: where the engine's moments count from.
    pub start_ms: u64,
    /// Directory of the checkpoints of all jobs, absolute.
    pub checkpoints: PathBuf,
    /// Whether checkpoints are taken.
    pub checkpointing: bool,
    /// Who watches over the time that an end may take.
    pub watch: Sender<Event>,
    /// How it ended, once it has.
    pub end: End,
}

/// The end of a job, to be waited for.
#[derive(Default)]
pub(crate) struct End {
    outcome: Mutex<Option<Outcome>>,
    come: Condvar,
}

/// The state in which a job has ended and the path of its last checkpoint, or what went wrong.
pub(crate) type Outcome = Result<(JobState, Option<String>), Fault>;

impl End {
    /// It has come. The first word counts.
    pub(crate) fn post(&self, outcome: Outcome) {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
        self.come.notify_all();
    }

    fn wait(&self) -> Outcome {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*outcome {
                Some(outcome) => return outcome.clone(),
                None => outcome = self.come.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Control for Steered {
    fn answer(&self, request: Request) -> Reply {
        let done = match request {
            Request::Status => return Reply::Status(self.status()),
            Request::Checkpoints => return Reply::History(self.history(&self.control.metrics())),
            Request::Checkpoint { full } => self.checkpoint(full).map(Reply::Path),
            Request::Stop => self.stop().map(Reply::Path),
            Request::Cancel => self.cancel().map(|()| Reply::Done),
        };
        done.unwrap_or_else(Reply::Refused)
    }
}

impl Steered {
    fn status(&self) -> Status {
        let metrics = self.control.metrics();
        Status {
            job_id: self.job_id.clone(),
            name: self.control.name().to_owned(),
            state: metrics.state.to_string(),
            pid: std::process::id(),
            parallelism: self.parallelism,
            start_ms: self.start_ms,
            last_checkpoint: metrics.last_checkpoint.map(|last| LastCheckpoint {
                id: last.id.0,
                path: text(&last.path),
                completed_ms: last.completed_ms,
            }),
        }
    }

    fn checkpoint(&self, full: bool) -> Result<String, Fault> {
        let taken = if full { self.control.full_checkpoint() } else { self.control.checkpoint() };
        taken.map(|info| text(&info.path)).map_err(|error| fault(&error))
    }

    fn stop(&self) -> Result<String, Fault> {
        // A job that has ended by itself, or is about to, says how.
        let _ = self.control.stop_and_keep();
        let (state, path) = self.ended("stop")?;
        stopped(state, path).map_err(|(cause, hint)| Fault {
            what: "stop".to_owned(),
            at: format!("job {}", self.control.name()),
            cause,
            hint,
        })
    }

    fn cancel(&self) -> Result<(), Fault> {
        let _ = self.control.cancel();
        self.ended("cancel").map(|_| ())
    }

    /// Waits for the end, for which there is so much time as after a signal.
    fn ended(&self, verb: &'static str) -> Outcome {
        // Nobody watches a job that has ended.
        let _ = self.watch.send(Event::Asked(verb));
        self.end.wait()
    }

    fn history(&self, metrics: &Metrics) -> History {
        let statistics = &metrics.checkpoints;
        let counts = statistics.counts();
        History {
            job_id: self.job_id.clone(),
            name: self.control.name().to_owned(),
            counts: Counts {
                total: counts.total,
                in_progress: counts.in_progress,
                completed: counts.completed,
                failed: counts.failed,
                restored: counts.restored,
            },
            restored: statistics.restored().map(|(id, moment)| Restored {
                id: id.0,
                path: self.restored_path(id.0, metrics),
                ms: self.start_ms + ms(moment),
            }),
            history: statistics.history().map(|record| self.entry(record)).collect(),
        }
    }

    fn entry(&self, record: &CheckpointRecord) -> Entry {
        let (status, failure) = match &record.status {
            CheckpointStatus::InProgress => ("IN_PROGRESS", None),
            CheckpointStatus::Completed => ("COMPLETED", None),
            CheckpointStatus::Failed(failure) => ("FAILED", Some(failure.to_string())),
        };
        let kind = match record.kind {
            CheckpointKind::Checkpoint => "CHECKPOINT",
            CheckpointKind::FullCheckpoint => "FULL_CHECKPOINT",
        };
        Entry {
            id: record.id.0,
            kind: kind.to_owned(),
            status: status.to_owned(),
            unaligned: false,
            trigger_ms: self.start_ms + ms(record.triggered),
            duration_ms: ms(record.duration),
            checkpointed_bytes: record.metrics.bytes,
            full_bytes: record.metrics.full_bytes,
            processed_bytes: record.metrics.processed_bytes,
            persisted_bytes: record.metrics.persisted_bytes,
            alignment_ms: ms(record.metrics.alignment),
            start_delay_ms: ms(record.metrics.start_delay),
            path: (record.status == CheckpointStatus::Completed).then(|| self.path(record.id.0)),
            failure,
        }
    }

    /// The directory of the checkpoint that the present attempt has gone on from: one that this process has completed, or
    /// what it began with, which may be anywhere.
    fn restored_path(&self, id: u64, metrics: &Metrics) -> String {
        let own = metrics.checkpoints.history().any(|record| record.id.0 == id);
        match &metrics.restored_from {
            Some(began) if !own => text(began),
            _ => self.path(id),
        }
    }

    /// The directory of one of the job's checkpoints.
    fn path(&self, id: u64) -> String {
        text(&self.checkpoints.join(&self.job_id).join(format!("chk-{id}")))
    }
}

impl Watched for Steered {
    fn suspend(&self) {
        // A job that has ended by itself is reported as such.
        let _ = self.control.stop();
    }

    fn abandon(&self) {
        // As above.
        let _ = self.control.abandon();
    }

    fn seen(&self) -> Seen {
        let metrics = self.control.metrics();
        let now = crate::app::now_ms();
        let age = |completed: u64| now.saturating_sub(completed);
        Seen {
            records: metrics.records_in,
            checkpoint: metrics.last_checkpoint.map(|last| (last.id.0, age(last.completed_ms))),
        }
    }
}

/// What a client is told who wanted a job to stop: the path of its final checkpoint, or why there is none, and perhaps
/// what to do.
fn stopped(state: JobState, path: Option<String>) -> Result<String, (String, Option<String>)> {
    match (state, path) {
        (JobState::Stopped, Some(path)) => Ok(path),
        (JobState::Stopped, None) => {
            let hint =
                "no checkpoint was completed before; without execution.checkpointing.interval none is taken";
            Err((format!("it ended {state}, without a checkpoint"), Some(hint.to_owned())))
        }
        _ => Err((format!("it has ended {state} meanwhile, without a stop"), None)),
    }
}

/// The parts of an engine's error.
pub(crate) fn fault(error: &millstream::Error) -> Fault {
    Fault {
        what: error.what().to_owned(),
        at: error.at().to_owned(),
        cause: error.cause().to_string(),
        hint: error.hint().map(ToOwned::to_owned),
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_that_came_too_late_says_how_the_job_has_ended() {
        let path = || Some("/ck/chk-7".to_owned());
        assert_eq!(stopped(JobState::Stopped, path()), Ok("/ck/chk-7".to_owned()));
        let (cause, hint) = stopped(JobState::Stopped, None).unwrap_err();
        assert!(cause.contains("without a checkpoint") && hint.unwrap().contains("interval"), "{cause}");
        for (state, path) in
            [(JobState::Finished, None), (JobState::Canceled, None), (JobState::Canceled, path())]
        {
            let (cause, hint) = stopped(state, path).unwrap_err();
            assert!(cause.contains(&state.to_string()) && hint.is_none(), "{cause}");
        }
    }
}
