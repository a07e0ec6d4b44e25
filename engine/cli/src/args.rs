//! The command line: verbs, their options, and errors in one line.

use crate::failure::Failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use millstream::config::{DURATION_FORM, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// What the environment can say.
const SURROUNDINGS: &str = "\
Environment:
  MILLSTREAM_HOME       directory of checkpoints and control sockets (default: .millstream for checkpoints, and a
                        directory of the user's own for sockets)
  MILLSTREAM_BACKTRACE  1 shows panics with their backtraces

Exit codes: 0 finished, or stopped as asked; 1 failed; 2 refused before the first record was read;
130 or 143: left at once by a second SIGINT or SIGTERM";

/// Exactly-once stream processing on one machine.
#[derive(Debug, Parser)]
#[command(name = "millstream", version, disable_help_subcommand = true, after_help = SURROUNDINGS)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What the command can do.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Verb {
    /// Run a job.
    ///
    /// Without -s and --fresh, a job whose name has completed checkpoints resumes from the newest one. SIGTERM or
    /// SIGINT suspends the job: a final checkpoint is taken, committed and kept, and the next start goes on from it.
    ///
    /// It goes on with the input that it began with: what was added since is not read, unless it follows (--follow), but
    /// named on stderr. Operators that the checkpoint does not know begin without state, and are named too; state that the
    /// job has no operator for refuses the start, unless -n.
    ///
    /// Checkpoints are taken when -D execution.checkpointing.interval=DURATION is given. Without it output is committed once,
    /// at the end of the input, and a job that is killed or stopped before begins anew; one that is killed while it commits
    /// may leave part of its output, and the next start writes all of it once more. Where completed checkpoints of the job are
    /// there, a run without an interval goes on from them, ends with a checkpoint, and repeats nothing.
    Run(Run),
    /// List the bundled jobs.
    Jobs,
    /// List the running jobs of this machine.
    List(List),
    /// Show the checkpoints of a running job, the newest first, and what is wrong with them, if anything.
    Checkpoints(Checkpoints),
    /// Show the figures of a running job and its subtasks.
    Metrics(Metrics),
    /// Take a checkpoint of a running job now, wait for it, print its path.
    Checkpoint(Checkpoint),
    /// Stop a running job: take a final checkpoint, commit it, keep it, print its path. The next start goes on from it.
    Stop(Named),
    /// Cancel a running job. Its checkpoints follow execution.checkpointing.externalized-checkpoint-retention; where they are
    /// deleted, output that is not committed goes with them.
    Cancel(Named),
}

/// Options of `run`.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Start from this checkpoint: its directory or its _metadata file.
    #[arg(short = 's', long, value_name = "PATH")]
    pub from_savepoint: Option<PathBuf>,

    /// State of operators that the job no longer has may be left behind.
    #[arg(short = 'n', long)]
    pub allow_non_restored_state: bool,

    /// Who owns the snapshot of -s: no-claim, the user; or claim, the job, which deletes it like the oldest of its own.
    #[arg(long, value_name = "MODE")]
    pub claim_mode: Option<String>,

    /// Begin without state although this job has completed checkpoints. Nothing old is deleted.
    #[arg(long)]
    pub fresh: bool,

    /// Default parallelism.
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub parallelism: Option<String>,

    /// Job name (default: the bundled job's, or the executable's).
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A configuration entry; may be given several times.
    #[arg(short = 'D', long = "define", value_name = "KEY=VALUE", value_parser = key_value)]
    pub defines: Vec<(String, String)>,

    /// TOML file with configuration entries; -D goes before it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Return when the job runs, print its job id. Its stderr goes to a .log file beside its control socket.
    #[arg(short, long)]
    pub detached: bool,

    /// When the run ends, write a summary in JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// Time allowed for a clean stop (default: 10s).
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, allow_hyphen_values = true)]
    pub grace: Option<Duration>,
}

/// Options of `list`.
#[derive(Args, Debug, PartialEq)]
pub struct List {
    /// One JSON array, to stdout.
    #[arg(long)]
    pub json: bool,
}

/// Options of `checkpoints`.
#[derive(Args, Debug, PartialEq)]
pub struct Checkpoints {
    /// Id, unambiguous beginning of an id, or name of a running job.
    pub job: String,
    /// Show this checkpoint in detail: what each task and subtask has to do with it.
    #[arg(long, value_name = "N", conflicts_with = "summary")]
    pub id: Option<u64>,
    /// Show what they have in common, the latest of each kind, the settings in force, and what is wrong.
    #[arg(long)]
    pub summary: bool,
    /// One JSON object, to stdout.
    #[arg(long)]
    pub json: bool,
}

/// Options of `metrics`.
#[derive(Args, Debug, PartialEq)]
pub struct Metrics {
    /// Id, unambiguous beginning of an id, or name of a running job.
    pub job: String,
    /// One JSON object, to stdout.
    #[arg(long)]
    pub json: bool,
    /// In the text format of Prometheus.
    #[cfg(feature = "prometheus")]
    #[arg(long, conflicts_with = "json")]
    pub prometheus: bool,
}

/// Options of `checkpoint`.
#[derive(Args, Debug, PartialEq)]
pub struct Checkpoint {
    /// Id, unambiguous beginning of an id, or name of a running job.
    pub job: String,
    /// Write the whole state, whatever earlier checkpoints hold.
    #[arg(long)]
    pub full: bool,
}

/// A verb about one running job.
#[derive(Args, Debug, PartialEq)]
pub struct Named {
    /// Id, unambiguous beginning of an id, or name of a running job.
    pub job: String,
}

/// Reads `KEY=VALUE`.
fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.trim().is_empty() {
        return Err("expected KEY=VALUE".to_owned());
    }
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Reads a duration that is not zero.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration.is_zero() {
        return Err(format!("zero makes no sense here; expected {DURATION_FORM}"));
    }
    Ok(duration)
}

/// What clap has to say: help and version for stdout, or a refusal in one line.
#[derive(Debug)]
pub enum Said {
    /// Text that was asked for.
    Text(String),
    /// A refusal.
    Refused(Failure),
}

/// Turns clap's answer into ours. `usage` is the command to ask for help.
pub fn said(error: &clap::Error, usage: &str) -> Said {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Said::Text(error.render().to_string());
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        // Of several suggestions the last one is the closest.
        Some(ContextValue::Strings(texts)) => texts.last().cloned(),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => texts.first().map(ToString::to_string),
        _ => None,
    };
    let value = text(ContextKind::InvalidValue).filter(|value| !value.is_empty());
    let subcommand = text(ContextKind::InvalidSubcommand);
    let argument = text(ContextKind::InvalidArg).or(subcommand).unwrap_or_else(|| "arguments".to_owned());
    let at = match &value {
        Some(value) => format!("{argument} = {value}"),
        None => argument,
    };
    let cause = match error.kind() {
        ErrorKind::UnknownArgument => "no such option".to_owned(),
        ErrorKind::InvalidSubcommand => "no such verb".to_owned(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a verb is missing".to_owned()
        }
        ErrorKind::MissingRequiredArgument => "missing".to_owned(),
        ErrorKind::ArgumentConflict => "given twice, or together with what excludes it".to_owned(),
        ErrorKind::InvalidValue if value.is_none() => "the value is missing".to_owned(),
        ErrorKind::InvalidUtf8 => "not valid UTF-8".to_owned(),
        ErrorKind::InvalidValue
            if let Some(ContextValue::Strings(allowed)) = error.get(ContextKind::ValidValue) =>
        {
            format!("expected {}", allowed.join(" | "))
        }
        _ => std::error::Error::source(error).map_or_else(|| "not valid".to_owned(), ToString::to_string),
    };
    let meant = text(ContextKind::SuggestedArg).or(text(ContextKind::SuggestedSubcommand));
    let hint = meant.map_or_else(|| format!("see {usage}"), |meant| format!("did you mean {meant}?"));
    Said::Refused(Failure::refused("command line", at, cause).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(args: &[&str]) -> Failure {
        match said(&Cli::try_parse_from(args).unwrap_err(), "millstream --help") {
            Said::Refused(failure) => failure,
            Said::Text(text) => panic!("{text}"),
        }
    }

    #[test]
    fn every_option_of_run_has_its_short_and_long_form() {
        let long = "m run --from-savepoint /p --allow-non-restored-state --claim-mode claim --fresh --parallelism 3 \
            --name n --define a=b=c --config f --detached --summary s --grace 5s";
        let Verb::Run(run) = Cli::try_parse_from(long.split_whitespace()).unwrap().verb else { panic!() };
        let wanted = Run {
            from_savepoint: Some("/p".into()),
            allow_non_restored_state: true,
            claim_mode: Some("claim".to_owned()),
            fresh: true,
            parallelism: Some("3".to_owned()),
            name: Some("n".to_owned()),
            defines: vec![("a".to_owned(), "b=c".to_owned())],
            config: Some("f".into()),
            detached: true,
            summary: Some("s".into()),
            grace: Some(Duration::from_secs(5)),
        };
        assert_eq!(run, wanted);
        let short = "m run -s /p -n -p3 -D a=b=c -d";
        let Verb::Run(run) = Cli::try_parse_from(short.split_whitespace()).unwrap().verb else { panic!() };
        assert_eq!(run.from_savepoint, wanted.from_savepoint);
        assert!(run.allow_non_restored_state && run.detached);
        assert_eq!((run.parallelism, run.defines), (wanted.parallelism, wanted.defines));
    }

    #[test]
    fn a_refusal_names_the_option_and_what_is_allowed() {
        let failure = refused(&["m", "run", "--grace", "10"]);
        assert_eq!(failure.code, 2);
        assert!(failure.at.contains("--grace") && failure.at.ends_with("= 10"), "{failure}");
        assert!(failure.cause.contains("us, ms, s, min, h, d"), "{failure}");
        assert!(refused(&["m", "run", "--grace", "0s"]).cause.contains("zero"));
        assert!(refused(&["m", "run", "-D", "novalue"]).cause.contains("KEY=VALUE"));
    }

    #[test]
    fn a_misspelt_option_or_verb_is_refused_with_the_one_that_was_meant() {
        let failure = refused(&["m", "run", "--summry", "x"]);
        assert!(failure.at.contains("--summry"), "{failure}");
        assert_eq!(failure.hint.as_deref(), Some("did you mean --summary?"));
        let failure = refused(&["m", "chekpoint", "x"]);
        assert!(failure.hint.is_some_and(|hint| hint.contains("checkpoint")));
        assert_eq!(refused(&["m"]).code, 2);
        assert!(refused(&["m", "cancel"]).at.contains("JOB"));
    }

    #[test]
    fn help_lists_only_what_works() {
        let Said::Text(help) = said(&Cli::try_parse_from(["m", "--help"]).unwrap_err(), "") else { panic!() };
        for verb in ["run", "jobs", "list", "checkpoints", "metrics", "checkpoint", "stop", "cancel"] {
            assert!(help.lines().any(|line| line.trim_start().starts_with(verb)), "{verb}: {help}");
        }
        for later in ["savepoint", "state", "diff"] {
            assert!(!help.lines().any(|line| line.trim_start().starts_with(later)), "{later}: {help}");
        }
    }
}
