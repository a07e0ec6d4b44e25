//! From the arguments of a process to its exit code.

use crate::args::{Cli, Run, Said, Verb, said};
use crate::failure::Failure;
use crate::home::{Home, Surroundings};
use crate::job_args::{BuildError, JobArgs};
use crate::jobs::{BUNDLED, bundled};
use crate::run::{Job, run};
use crate::split::{Split, split};
use crate::{launch, verbs};
use clap::{Args, Command, CommandFactory, FromArgMatches};
use millstream::Env;
use std::any::Any;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a program can run.
pub(crate) enum Program<'a> {
    /// The bundled jobs, and job executables.
    Millstream,
    /// One job of its own.
    Own {
        /// The executable's name.
        name: String,
        /// Describes the job.
        build: &'a dyn Fn(&Env, &mut JobArgs) -> Result<(), BuildError>,
    },
}

impl Program<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Millstream => "millstream",
            Self::Own { name, .. } => name,
        }
    }

    /// Does what the arguments say.
    pub(crate) fn run(&self, args: &[OsString]) -> ExitCode {
        quiet_panics();
        match catch_unwind(AssertUnwindSafe(|| self.answer(args))) {
            Ok(code) => code,
            Err(panic) => Failure::failed("run", self.name(), format!("panicked: {}", panic_text(&*panic)))
                .hint(format!("{BACKTRACE}=1 shows where"))
                .report(),
        }
    }

    fn answer(&self, args: &[OsString]) -> ExitCode {
        let answered = match args.get(1) {
            Some(verb) if verb == "run" => self.run_job(&args[2..]),
            _ => self.steer(args),
        };
        answered.unwrap_or_else(|error| match error {
            BuildError::Help(text) => match verbs::print(&text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failure.report(),
            },
            BuildError::Refused(failure) => failure.report(),
        })
    }

    /// Every verb but `run`.
    fn steer(&self, args: &[OsString]) -> Result<ExitCode, BuildError> {
        let command = self.command();
        let verb = args.get(1).and_then(|verb| command.find_subcommand(verb)).map(Command::get_name);
        let verb = verb.map_or_else(String::new, |verb| format!(" {verb}"));
        let matches = command.try_get_matches_from(args).map_err(|error| self.said(&error, &verb))?;
        let cli = Cli::from_arg_matches(&matches).map_err(|error| self.said(&error, &verb))?;
        let home = Home::new(&Surroundings::of_process());
        match cli.verb {
            Verb::Jobs => self.list_jobs()?,
            Verb::List(options) => verbs::list(&home, options.json, now_ms())?,
            Verb::Checkpoints(options) => verbs::checkpoints(&home, &options)?,
            Verb::Metrics(options) => verbs::metrics(&home, &options)?,
            Verb::Checkpoint(options) => verbs::checkpoint(&home, &options.job, options.full)?,
            Verb::Stop(options) => verbs::stop(&home, &options.job)?,
            Verb::Cancel(options) => verbs::cancel(&home, &options.job)?,
            // Taken before; only reached when it is not the first argument, which clap does not allow.
            Verb::Run(_) => return Ok(ExitCode::SUCCESS),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The whole command line as clap knows it.
    fn command(&self) -> Command {
        let command = Cli::command().name(self.name().to_owned()).bin_name(self.name().to_owned());
        match self {
            Self::Millstream => command,
            Self::Own { .. } => command.mut_subcommand("jobs", |jobs| {
                jobs.about("Print the name of the job that this program runs")
            }),
        }
    }

    fn list_jobs(&self) -> Result<(), Failure> {
        let text = match self {
            Self::Own { name, .. } => format!("{name}\n"),
            Self::Millstream => {
                let width = BUNDLED.iter().map(|job| job.name.len()).max().unwrap_or(0);
                BUNDLED.iter().map(|job| format!("{:<width$}  {}\n", job.name, job.about)).collect()
            }
        };
        verbs::print(&text)
    }

    fn run_job(&self, args: &[OsString]) -> Result<ExitCode, BuildError> {
        let command = self.run_command();
        let Split { run: own, rest } = split(args.iter().cloned(), &command);
        let matches = command.no_binary_name(true).try_get_matches_from(&own);
        let matches = matches.map_err(|error| self.said(&error, " run"))?;
        let options = Run::from_arg_matches(&matches).map_err(|error| self.said(&error, " run"))?;
        let job = match self {
            Self::Own { name, build } => {
                let args = JobArgs::new(format!("{name} run"), "", rest);
                Job { default_name: name.clone(), build: *build, args }
            }
            Self::Millstream => match self.chosen(rest)? {
                Chosen::Bundled(job) => job,
                Chosen::Path(program, rest) => {
                    return Err(launch::become_job(Path::new(&program), &own, &rest).into());
                }
            },
        };
        if options.detached && !launch::is_detached() {
            let all: Vec<OsString> =
                std::iter::once(OsString::from("run")).chain(args.iter().cloned()).collect();
            return Ok(launch::detach(&all)?);
        }
        run(options, job)
    }

    /// The job that is the first of the arguments, with those behind it.
    fn chosen(&self, rest: Vec<OsString>) -> Result<Chosen, Failure> {
        let mut rest = rest.into_iter();
        let Some(job) = rest.next() else {
            return Err(Failure::refused("command line", "<JOB>", "missing")
                .hint("millstream jobs lists the bundled ones; the path of a job executable does as well"));
        };
        if let Some(found) = job.to_str().and_then(bundled) {
            let args = JobArgs::new(format!("millstream run {}", found.name), found.about, rest.collect());
            return Ok(Chosen::Bundled(Job {
                default_name: found.name.to_owned(),
                build: &found.build,
                args,
            }));
        }
        if launch::is_path(&job) {
            return Ok(Chosen::Path(job, rest.collect()));
        }
        let shown = job.to_string_lossy();
        if shown.starts_with('-') {
            let meant = self.run_command();
            let longs = meant.get_arguments().filter_map(clap::Arg::get_long);
            let close = millstream::config::closest(shown.trim_start_matches('-'), longs);
            let hint = close
                .map_or_else(|| "see millstream run --help".to_owned(), |o| format!("did you mean --{o}?"));
            return Err(
                Failure::refused("command line", shown.clone(), "no such option before the job").hint(hint)
            );
        }
        let close = millstream::config::closest(&shown, BUNDLED.iter().map(|job| job.name));
        let hint = close.map_or_else(
            || "millstream jobs lists the bundled ones".to_owned(),
            |name| format!("did you mean {name}?"),
        );
        Err(Failure::refused("command line", shown.clone(), "no bundled job of this name, and no file")
            .hint(hint))
    }

    /// `run` as clap knows it.
    fn run_command(&self) -> Command {
        let (usage, behind) = match self {
            Self::Millstream => (
                "millstream run [OPTIONS] <JOB> [JOB OPTIONS]".to_owned(),
                "<JOB> is a bundled job (millstream jobs) or the path of a job executable.\n\
                 Options of a job: millstream run <JOB> --help",
            ),
            Self::Own { name, .. } => {
                (format!("{name} run [OPTIONS] [JOB OPTIONS]"), "Options of the job: run -- --help")
            }
        };
        let run = Cli::command().find_subcommand("run").and_then(Command::get_long_about).cloned();
        let command = Command::new("run").bin_name(format!("{} run", self.name())).override_usage(usage);
        // What the options say of themselves is for readers of the code.
        Run::augment_args(command.after_help(behind)).about(run.unwrap_or_default())
    }

    fn said(&self, error: &clap::Error, verb: &str) -> BuildError {
        match said(error, &format!("{}{verb} --help", self.name())) {
            Said::Text(text) => BuildError::Help(text),
            Said::Refused(failure) => BuildError::Refused(failure),
        }
    }
}

/// Shows panics with their backtraces, for who looks for a bug.
const BACKTRACE: &str = "MILLSTREAM_BACKTRACE";

/// Keeps panics off stderr unless they are asked for: those of a job become errors of the job, and one of the command
/// an error of its own. Many systems set `RUST_BACKTRACE` for all programs, so that is not asking.
fn quiet_panics() {
    if std::env::var_os(BACKTRACE).is_none_or(|asked| asked == "0") {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

/// What is to be run.
enum Chosen {
    Bundled(Job<'static>),
    Path(OsString, Vec<OsString>),
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
