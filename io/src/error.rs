//! What can go wrong at the edges, and what may be done about it.

use std::error::Error as StdError;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What an error means for the job (rulings 1, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The attempt fails; the restart strategy decides.
    Restart,
    /// The data or the program is at fault, a restart would meet it again: the job fails at once.
    Data,
    /// Found before the first record: the start is refused, nothing was created or deleted.
    Refuse,
    /// Going on could lose or repeat output: the job fails at once.
    Fatal,
}

/// Whether a failed operation may have had its effect all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Certainly not done.
    Determinate,
    /// Perhaps done; only idempotent work may be tried again.
    Indeterminate,
}

/// A failed operation on durable storage.
#[derive(Debug, Error)]
#[error("{operation} {}: {source}", path.display())]
pub struct StorageError {
    /// The operation: `create`, `write`, `sync`, …
    pub operation: &'static str,
    /// The file or directory at fault.
    pub path: PathBuf,
    /// Whether it may have happened.
    pub outcome: Outcome,
    /// The cause.
    pub source: std::io::Error,
}

impl StorageError {
    /// An operation that was certainly not done.
    pub fn not_done(operation: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self { operation, path: path.to_owned(), outcome: Outcome::Determinate, source }
    }

    /// An operation that may have been done.
    pub fn perhaps_done(operation: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self { operation, path: path.to_owned(), outcome: Outcome::Indeterminate, source }
    }

    /// The kind of the cause.
    pub fn kind(&self) -> std::io::ErrorKind {
        self.source.kind()
    }
}

/// A source, a sink or an operator failed: `<what failed>: <thing at fault>: <cause>`, and perhaps a hint.
#[derive(Debug)]
pub struct ConnectorError {
    /// What failed, in a few words: `read`, `parse CSV`, `commit`.
    pub what: String,
    /// The thing at fault: a path, `file:line (byte offset n)`, a setting.
    pub at: String,
    /// Why.
    pub cause: Box<dyn StdError + Send + Sync>,
    /// What the user may do, where there is something.
    pub hint: Option<String>,
    /// What the job does about it.
    pub class: Class,
}

impl ConnectorError {
    /// An error of the given class.
    pub fn new(
        class: Class,
        what: impl Into<String>,
        at: impl Into<String>,
        cause: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { what: what.into(), at: at.into(), cause: cause.into(), hint: None, class }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ConnectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.what, self.at, self.cause)
    }
}

impl StdError for ConnectorError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

impl From<StorageError> for ConnectorError {
    fn from(error: StorageError) -> Self {
        Self {
            what: error.operation.to_owned(),
            at: error.path.display().to_string(),
            cause: error.source.into(),
            hint: None,
            class: Class::Restart,
        }
    }
}
