//! What is wrong with a configuration.

use super::Origin;
use millstream_io::error::{Class, ConnectorError};
use std::fmt;
use thiserror::Error;

/// A configuration that is refused: names key, value, where it was given, and what is allowed (ER-21).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// The key as it was written.
    pub key: String,
    /// The value as it was written.
    pub value: String,
    /// Where it was given.
    pub origin: Origin,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is no such key; perhaps this one was meant.
    Unknown(Option<&'static str>),
    /// A key that this version does not have yet.
    NotYet,
    /// The value is not of the key's form, or outside what is allowed.
    Value(String),
}

impl ConfigError {
    /// The entry at fault, as it would be written.
    pub fn entry(&self) -> String {
        format!("{} = {}{}", self.key, self.value, self.origin.phrase())
    }

    /// What is wrong, without the entry.
    pub fn cause(&self) -> String {
        match &self.problem {
            Problem::Unknown(_) => "no such key".to_owned(),
            Problem::NotYet => "this version does not support the key yet".to_owned(),
            Problem::Value(cause) => cause.clone(),
        }
    }

    /// What the user may do.
    pub fn hint(&self) -> Option<String> {
        match &self.problem {
            Problem::Unknown(meant) => meant.map(|name| format!("did you mean {name}?")),
            Problem::NotYet => Some("leave it out".to_owned()),
            Problem::Value(_) => None,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "configuration: {}: {}", self.entry(), self.cause())
    }
}

impl From<ConfigError> for ConnectorError {
    fn from(error: ConfigError) -> Self {
        let refused = Self::new(Class::Refuse, "configuration", error.entry(), error.cause());
        match error.hint() {
            Some(hint) => refused.with_hint(hint),
            None => refused,
        }
    }
}
