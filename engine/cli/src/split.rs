//! Which arguments of `run` are its own, and which are the job's.
//!
//! `millstream run [OPTIONS] <JOB> [JOB OPTIONS]`: options of `run` are taken wherever they stand, everything else
//! belongs to the job, in the order given. After `--` everything does.

use clap::{ArgAction, Command};
use std::ffi::{OsStr, OsString};

/// Other spellings that are accepted, as people know them (ruling 23).
const ALIASES: &[(&str, &str)] = &[
    ("-claimMode", "--claim-mode"),
    ("--claimMode", "--claim-mode"),
    ("-cm", "--claim-mode"),
    ("--fromSavepoint", "--from-savepoint"),
    ("-fromSavepoint", "--from-savepoint"),
    ("--allowNonRestoredState", "--allow-non-restored-state"),
    ("-allowNonRestoredState", "--allow-non-restored-state"),
    ("-parallelism", "--parallelism"),
    ("-detached", "--detached"),
];

/// The arguments of `run`, apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Options of `run` with their values.
    pub run: Vec<OsString>,
    /// What is left: the job and its options.
    pub rest: Vec<OsString>,
}

/// Takes the arguments apart; `run` describes the options of `run`.
pub fn split(args: impl IntoIterator<Item = OsString>, run: &Command) -> Split {
    let mut out = Split::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            out.rest.extend(args);
            break;
        }
        let arg = spelled(arg);
        // Help that is asked for behind the job is the job's.
        let asks_help = matches!(arg.to_str(), Some("-h" | "--help"));
        match option(&arg, run) {
            _ if asks_help && out.rest.is_empty() => out.run.push(arg),
            Some(Takes::Nothing | Takes::Given) => out.run.push(arg),
            Some(Takes::Next) => {
                out.run.push(arg);
                out.run.extend(args.next());
            }
            None => out.rest.push(arg),
        }
    }
    out
}

fn spelled(arg: OsString) -> OsString {
    let Some(text) = arg.to_str() else { return arg };
    let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
    match ALIASES.iter().find(|(alias, _)| *alias == name) {
        Some((_, known)) => format!("{known}{value}").into(),
        None => arg,
    }
}

/// Where an option has its value.
enum Takes {
    Nothing,
    Given,
    Next,
}

/// Whether this is an option of `run`.
fn option(arg: &OsStr, run: &Command) -> Option<Takes> {
    let bytes = arg.as_encoded_bytes();
    let (known, given) = if let Some(long) = bytes.strip_prefix(b"--") {
        let end = long.iter().position(|b| *b == b'=');
        let name = str::from_utf8(&long[..end.unwrap_or(long.len())]).ok()?;
        (run.get_arguments().find(|a| a.get_long() == Some(name))?, end.is_some())
    } else {
        let short = char::from(*bytes.strip_prefix(b"-")?.first()?);
        (run.get_arguments().find(|a| a.get_short() == Some(short))?, bytes.len() > 2)
    };
    Some(match (matches!(known.get_action(), ArgAction::SetTrue), given) {
        (true, _) => Takes::Nothing,
        (false, true) => Takes::Given,
        (false, false) => Takes::Next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Run;
    use clap::Args;

    fn apart(line: &str) -> (String, String) {
        let command = Run::augment_args(Command::new("run"));
        let split = split(line.split_whitespace().map(OsString::from), &command);
        let join = |args: Vec<OsString>| args.join(OsStr::new(" ")).into_string().unwrap();
        (join(split.run), join(split.rest))
    }

    #[test]
    fn options_of_run_are_taken_wherever_they_stand() {
        let (run, rest) = apart("-p 4 -Da=b pass --input x --name n --output=y -n --summary=s -D c=d");
        assert_eq!(run, "-p 4 -Da=b --name n -n --summary=s -D c=d");
        assert_eq!(rest, "pass --input x --output=y");
    }

    #[test]
    fn after_two_dashes_everything_is_the_jobs() {
        assert_eq!(
            apart("-p 4 ./job -- -p 5 --name x"),
            ("-p 4".to_owned(), "./job -p 5 --name x".to_owned())
        );
    }

    #[test]
    fn known_spellings_are_accepted() {
        for (given, taken) in [
            ("-claimMode claim", "--claim-mode claim"),
            ("-cm=claim", "--claim-mode=claim"),
            ("--allowNonRestoredState", "--allow-non-restored-state"),
            ("--fromSavepoint /p", "--from-savepoint /p"),
        ] {
            assert_eq!(apart(given), (taken.to_owned(), String::new()));
        }
    }

    #[test]
    fn a_value_may_look_like_an_option_and_the_last_one_may_be_missing() {
        assert_eq!(apart("-p -1 pass"), ("-p -1".to_owned(), "pass".to_owned()));
        assert_eq!(apart("pass --name"), ("--name".to_owned(), "pass".to_owned()));
    }

    #[test]
    fn help_is_that_of_the_job_once_there_is_one() {
        assert_eq!(apart("--help pass"), ("--help".to_owned(), "pass".to_owned()));
        assert_eq!(apart("pass --help"), (String::new(), "pass --help".to_owned()));
    }
}
