//! What can go wrong with a job.

use millstream_io::error::{Class, ConnectorError, StorageError};
use millstream_state::StateError;
use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text of a panic, as far as there is one.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no text)")
}

/// Calls user code; a panic in it becomes an error that names the operator and the method.
pub(crate) fn calling<T>(
    operator: &str,
    method: &str,
    call: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    caught(call).unwrap_or_else(|text| {
        Err(Error::new(Class::Restart, "operator", operator, format!("panicked in {method}: {text}")))
    })
}

/// Calls what may panic; the error is the panic's text.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_text(&*panic).to_owned())
}

/// Drops what holds user code. A panic of that is told and goes no further: there is nothing left that could fail.
pub(crate) fn drop_quietly<T>(name: &str, dropped: T) {
    if let Err(text) = caught(|| drop(dropped)) {
        tracing::warn!(operator = name, "user code panicked while it was dropped: {text}");
    }
}

/// A job, or the start of one, failed: `<what failed>: <thing at fault>: <cause>`, and perhaps a hint.
///
/// [`Error::class`] says what it means: [`Class::Refuse`] was found before the first record and changed nothing.
pub struct Error(ConnectorError);

impl Error {
    /// An error of the given class.
    pub fn new(
        class: Class,
        what: impl Into<String>,
        at: impl Into<String>,
        cause: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self(ConnectorError::new(class, what, at, cause))
    }

    /// An error found before the first record.
    pub fn refuse(
        what: impl Into<String>,
        at: impl Into<String>,
        cause: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::new(Class::Refuse, what, at, cause)
    }

    /// The same with a hint what to do.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self(self.0.with_hint(hint))
    }

    /// The same, found before the first record: the start is refused.
    #[must_use]
    pub fn refused(mut self) -> Self {
        self.0.class = Class::Refuse;
        self
    }

    /// The same, saying why it was the last one.
    pub(crate) fn after(mut self, why: impl fmt::Display) -> Self {
        self.0.cause = format!("{} ({why})", self.0.cause).into();
        self
    }

    /// What failed, in a few words.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The thing at fault: an operator, a path, a configuration key.
    pub fn at(&self) -> &str {
        &self.0.at
    }

    /// Why.
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0.cause
    }

    /// What the user may do, where there is something.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// What it means for the job.
    pub fn class(&self) -> Class {
        self.0.class
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConnectorError { what, at, cause, hint, class } = &self.0;
        let mut shown = f.debug_struct("Error");
        shown.field("what", what).field("at", at).field("cause", cause).field("hint", hint);
        shown.field("class", class).finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

impl From<ConnectorError> for Error {
    fn from(error: ConnectorError) -> Self {
        Self(error)
    }
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        ConnectorError::from(error).into()
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        ConnectorError::from(error).into()
    }
}
