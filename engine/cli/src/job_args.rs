//! What a job is given of the command line.

use crate::args::{Said, said};
use crate::failure::Failure;
use crate::summary::Summary;
use clap::{Args, Command};
use std::error::Error;
use std::ffi::OsString;
use std::fmt;

/// The part of the command line that belongs to the job.
pub struct JobArgs {
    usage: String,
    about: String,
    rest: Vec<OsString>,
    read: bool,
    at_end: AtEnd,
}

/// What a job has to say in the end.
#[derive(Default)]
pub(crate) struct AtEnd {
    /// When it has finished.
    pub report: Option<Box<dyn FnOnce(&Summary) -> String + Send>>,
    /// However it ended, where there is something to warn of.
    pub warning: Option<Box<dyn FnOnce() -> Option<String> + Send>>,
}

impl JobArgs {
    /// `usage` is the command up to the job's options, `rest` what follows it.
    pub(crate) fn new(usage: impl Into<String>, about: impl Into<String>, rest: Vec<OsString>) -> Self {
        Self { usage: usage.into(), about: about.into(), rest, read: false, at_end: AtEnd::default() }
    }

    /// Reads the job's own options.
    ///
    /// ```
    /// use millstream_cli::{BuildError, JobArgs, clap};
    ///
    /// #[derive(clap::Args)]
    /// struct Options {
    ///     /// Smallest value that is kept.
    ///     #[arg(long, default_value_t = 10)]
    ///     least: u64,
    /// }
    ///
    /// fn least(args: &mut JobArgs) -> Result<u64, BuildError> {
    ///     Ok(args.options::<Options>()?.least)
    /// }
    /// # let _ = least;
    /// ```
    ///
    /// # Errors
    /// Options that are missing or wrong, which refuse the start; and `--help`, which is shown in its place.
    pub fn options<T: Args>(&mut self) -> Result<T, BuildError> {
        self.read = true;
        let command = Command::new("job")
            .bin_name(self.usage.clone())
            .after_help("Options of every job: millstream run --help");
        // What the options say of themselves is for readers of the code.
        let command = T::augment_args(command).about(self.about.clone());
        let command = command.no_binary_name(true).disable_version_flag(true);
        let help = format!("{} --help", self.usage);
        let answer = |error: clap::Error| match said(&error, &help) {
            Said::Text(text) => BuildError::Help(text),
            Said::Refused(failure) => BuildError::Refused(failure),
        };
        let matches = command.try_get_matches_from(&self.rest).map_err(answer)?;
        T::from_arg_matches(&matches).map_err(answer)
    }

    /// The job's arguments as they stand, for a job that reads them by itself.
    pub fn raw(&mut self) -> &[OsString] {
        self.read = true;
        &self.rest
    }

    /// Has `report` called when the job has finished; what it returns is written to stderr.
    pub fn at_end(&mut self, report: impl FnOnce(&Summary) -> String + Send + 'static) {
        self.at_end.report = Some(Box::new(report));
    }

    /// Has `warning` called when the job has ended in any way; what it returns is written to stderr.
    pub(crate) fn warn_at_end(&mut self, warning: impl FnOnce() -> Option<String> + Send + 'static) {
        self.at_end.warning = Some(Box::new(warning));
    }

    /// What there is to say in the end; arguments that nobody read are refused.
    pub(crate) fn finish(self) -> Result<AtEnd, BuildError> {
        match self.rest.first() {
            Some(first) if !self.read => {
                Err(Failure::refused("command line", first.to_string_lossy(), "no such option")
                    .hint(format!("see {} --help", self.usage))
                    .into())
            }
            _ => Ok(self.at_end),
        }
    }
}

/// Why a job was not built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// Help was asked for: show this text, and end well.
    Help(String),
    /// The start is refused.
    Refused(Failure),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Help(text) => f.write_str(text),
            Self::Refused(failure) => failure.fmt(f),
        }
    }
}

impl Error for BuildError {}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args, Debug, PartialEq)]
    struct Options {
        /// A number.
        #[arg(long)]
        least: u64,
    }

    fn args(line: &str) -> JobArgs {
        JobArgs::new("millstream run demo", "Shows.", line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn a_job_reads_its_options() {
        let mut args = args("--least 3");
        assert_eq!(args.options::<Options>().unwrap(), Options { least: 3 });
        assert!(args.finish().unwrap().report.is_none());
    }

    #[test]
    fn wrong_options_refuse_the_start_and_point_to_the_jobs_help() {
        for line in ["", "--least", "--least x", "--lest 3", "--least 3 stray"] {
            let BuildError::Refused(failure) = args(line).options::<Options>().unwrap_err() else {
                panic!("{line}")
            };
            assert_eq!(failure.code, 2, "{line}");
            assert!(failure.hint.is_some(), "{line}");
        }
    }

    #[test]
    fn help_shows_the_jobs_own_options() {
        let BuildError::Help(text) = args("--help").options::<Options>().unwrap_err() else { panic!() };
        for part in ["Shows.", "millstream run demo", "--least <LEAST>", "A number"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn arguments_that_nobody_reads_are_refused() {
        assert!(matches!(args("--least 3").finish(), Err(BuildError::Refused(_))));
        assert!(args("").finish().is_ok());
        let mut raw = args("--anything");
        assert_eq!(raw.raw(), ["--anything"]);
        assert!(raw.finish().is_ok());
    }
}
