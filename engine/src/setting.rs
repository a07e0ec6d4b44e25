//! A configuration value that is out of range.

use thiserror::Error;

/// A value that its key does not allow (ER-21): names the key, the value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {value}: {allowed}")]
pub struct InvalidSetting {
    /// The configuration key at fault.
    pub key: &'static str,
    /// The value that was given.
    pub value: String,
    /// What is allowed: `must be at least 10ms`.
    pub allowed: String,
}

impl InvalidSetting {
    pub(crate) fn new(key: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self { key, value: value.to_string(), allowed: allowed.into() }
    }
}
