//! How a run of the command ends when it does not end well: one line, perhaps a hint, and an exit code.

use crate::control::protocol::Fault;
use crate::say::say;
use millstream::config::ConfigError;
use std::fmt;
use std::process::ExitCode;

/// The job failed for good, or a verb could not do what was asked.
pub const FAILED: u8 = 1;

/// Refused before the first record was read.
pub const REFUSED: u8 = 2;

/// What went wrong: `error: <what failed>: <thing at fault>: <cause>`, and perhaps `hint: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What failed, in a few words.
    pub what: String,
    /// The thing at fault: an option, a file, a job.
    pub at: String,
    /// Why.
    pub cause: String,
    /// What the user may do, where there is something.
    pub hint: Option<String>,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// A failure with exit code 2: nothing was begun.
    pub fn refused(what: impl Into<String>, at: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self { what: what.into(), at: at.into(), cause: cause.to_string(), hint: None, code: REFUSED }
    }

    /// A failure with exit code 1.
    pub fn failed(what: impl Into<String>, at: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self { code: FAILED, ..Self::refused(what, at, cause) }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Its parts, for a client to report.
    pub fn fault(&self) -> Fault {
        let Self { what, at, cause, hint, .. } = self.clone();
        Fault { what, at, cause, hint }
    }

    /// Writes it to stderr and gives the exit code.
    pub fn report(&self) -> ExitCode {
        say(self);
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}: {}: {}", OneLine(&self.what), OneLine(&self.at), OneLine(&self.cause))?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {}", OneLine(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Text of outside origin, kept on one line and free of terminal control codes.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.trim().is_empty() {
            return f.write_str("''");
        }
        for c in self.0.trim().chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        Ok(())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { hint: error.hint(), ..Self::refused("configuration", error.entry(), error.cause()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_and_a_hint_the_second() {
        let failure = Failure::refused("read input", "a\nb", "no such file\u{1b}[31m").hint("look\nagain");
        assert_eq!(
            failure.to_string(),
            "error: read input: a\\nb: no such file\\u{1b}[31m\nhint: look\\nagain"
        );
        assert_eq!(Failure::failed("x", "y", "z").to_string(), "error: x: y: z");
        assert_eq!(Failure::failed("x", "", "z").to_string(), "error: x: '': z");
    }

    #[test]
    fn refusals_and_failures_have_their_exit_codes() {
        assert_eq!(Failure::refused("", "", "").code, 2);
        assert_eq!(Failure::failed("", "", "").code, 1);
    }
}
