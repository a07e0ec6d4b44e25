//! A running job as its control socket and its supervisor see it.

use crate::control::Control;
use crate::control::protocol::{Fault, LastCheckpoint, Reply, Request, Status};
use crate::control::report::Details;
use crate::progress::Seen;
use crate::shown::{Named, text};
use crate::supervise::{Event, Watched};
use millstream::{JobControl, JobState, RestoreProgress};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};

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
            Request::Checkpoints => return Reply::History(self.named().history(&self.control.metrics())),
            Request::Overview => {
                return Reply::Overview(Box::new(self.named().overview(&self.control.metrics())));
            }
            Request::Metrics => return Reply::Figures(self.named().figures(&self.control.metrics())),
            Request::Details { id } => self.details(id).map(|details| Reply::Details(Box::new(details))),
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

    fn named(&self) -> Named<'_> {
        Named { job_id: &self.job_id, name: self.control.name(), checkpoints: &self.checkpoints }
    }

    fn details(&self, id: u64) -> Result<Details, Fault> {
        self.named().details(&self.control.metrics(), id).ok_or_else(|| Fault {
            what: "show checkpoint".to_owned(),
            at: format!("checkpoint {id} of job {}", self.control.name()),
            cause: "not among those that are remembered".to_owned(),
            hint: Some("web.checkpoints.history says how many are".to_owned()),
        })
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
        let restoring = metrics.restoring.into_iter().reduce(RestoreProgress::and);
        Seen {
            records: metrics.records_in,
            checkpoint: metrics.last_checkpoint.map(|last| (last.id.0, age(last.completed_ms))),
            restoring: restoring.filter(|restoring| restoring.bytes_done < restoring.bytes),
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
