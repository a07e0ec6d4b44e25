//! What belongs to the end of a run: the summary, the words, the leave from those who listen.
//!
//! When a job has finished all of it comes before the engine puts that on record, and the process leaves right behind
//! the record, from where it stands: one that is killed in between has finished without having said so, and whoever
//! starts it again starts a new run. After any other end the next start goes on from a checkpoint, or does so by
//! intention not, and the order does not matter.

use crate::control::{Claim, Server};
use crate::failure::{FAILED, Failure};
use crate::job_args::AtEnd;
use crate::say::say;
use crate::steer::Steered;
use crate::summary::{Summary, written};
use crate::supervise::Ended;
use millstream::{Class, Ending, Error, JobState};
use signal_hook::low_level::exit;
use std::convert::Infallible;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// What is left to do in the end.
pub(crate) struct Conclusion<'a> {
    pub job: Arc<Steered>,
    /// Where the summary goes.
    pub summary: Option<&'a Path>,
    pub at_end: AtEnd,
    /// Those who listen, and the right to run the job.
    pub held: Option<(Server, Claim)>,
}

impl Conclusion<'_> {
    /// The job has finished: says so, and puts it on record as the last thing before the process exits.
    ///
    /// # Errors
    /// The summary or the record cannot be written; the job is then not over.
    pub(crate) fn finished(&mut self, ending: Ending) -> Result<Infallible, Failure> {
        let summary = &written(ending.summary());
        self.write(summary)?;
        self.warn();
        if let Some(report) = self.at_end.report.take() {
            say(report(summary));
        }
        say(format_args!("finished: {}", figures(summary)));
        // Its checkpoints go with the record.
        self.job.end.post(Ok((JobState::Finished, None)));
        self.leave();
        // What is not written by now never is; nobody may read it any more.
        let _ = std::io::stdout().flush();
        ending.complete().map_err(|error| failed(&error))?;
        exit(0)
    }

    /// The job has ended in any other way; gives the exit code.
    ///
    /// # Errors
    /// The summary cannot be written.
    pub(crate) fn ended(&mut self, ended: &Ended, summary: &Summary) -> Result<ExitCode, Failure> {
        self.warn();
        let figures = figures(summary);
        match ended {
            Ended::Failed(_) => {}
            Ended::Canceled => say(format_args!("cancelled: {figures}")),
            Ended::Stopped(Some(path)) => {
                say(format_args!("suspended: {figures}; the next start goes on from {path}"));
            }
            Ended::Stopped(None) if self.job.checkpointing => {
                say(format_args!(
                    "suspended: {figures}; no checkpoint was completed, so the next start begins anew"
                ));
            }
            Ended::Stopped(None) => {
                say("stopped: nothing was committed, since execution.checkpointing.interval is not set");
            }
        }
        let written = self.write(summary);
        self.leave();
        match ended {
            // The first error is the one to report.
            Ended::Failed(failure) => Ok(failure.report()),
            _ => written.map(|()| ExitCode::SUCCESS),
        }
    }

    fn write(&self, summary: &Summary) -> Result<(), Failure> {
        self.summary.map_or(Ok(()), |path| summary.write(path))
    }

    fn warn(&mut self) {
        if let Some(warning) = self.at_end.warning.take().and_then(|warning| warning()) {
            say(format_args!("warning: {warning}"));
        }
    }

    fn leave(&mut self) {
        self.held = None;
    }
}

fn figures(summary: &Summary) -> String {
    let rejected = match summary.records_rejected {
        0 => String::new(),
        some => format!(", {some} rejected"),
    };
    format!("{} records read, {} written{rejected}", summary.records_in, summary.records_out)
}

/// What the engine is told when the end could not be concluded. With a final checkpoint it can be made up for; without
/// one all that is left is to know that everything is done.
pub(crate) fn unconcluded(failure: Failure, final_checkpoint: bool) -> Error {
    let Failure { what, at, cause, hint, .. } = failure;
    let error = Error::new(Class::Fatal, what, at, cause);
    let hint = hint.unwrap_or_else(|| match final_checkpoint {
        true => "everything is committed, but the job counts as unfinished; start it again once this is mended",
        false => {
            "everything is committed; do not start the job again for this, it would write the same output once more, \
             since execution.checkpointing.interval is not set"
        }
    }
    .to_owned());
    error.with_hint(hint)
}

/// An error of the engine as the command reports it.
pub(crate) fn failed(error: &Error) -> Failure {
    let code = if error.class() == Class::Refuse { crate::failure::REFUSED } else { FAILED };
    Failure {
        what: error.what().to_owned(),
        at: error.at().to_owned(),
        cause: error.cause().to_string(),
        hint: error.hint().map(ToOwned::to_owned),
        code,
    }
}
