//! Configuration: typed settings, each with its name, its limits, and where its value came from.
//!
//! [`Settings`] are plain values with their defaults; [`KEYS`] is the one table that gives each a name. A [`Config`]
//! is settings plus the origin of each value, so that what was given on the command line goes before what a program
//! says, that before a file, and that before the defaults (CF-01, ruling 23). [`Config::validate`] is the one place
//! that decides whether the settings make sense together.
//!
//! ```
//! use millstream::config::{Config, Origin};
//! use std::time::Duration;
//!
//! let mut config = Config::default();
//! config.edit(|s| s.checkpointing.interval = Some(Duration::from_secs(10)));
//! config.set("execution.checkpointing.num-retained", "3", Origin::Code)?;
//! assert_eq!(config.checkpointing.num_retained, 3);
//!
//! let refused = config.set("checkpoint_intervall", "10s", Origin::Define).unwrap_err();
//! assert_eq!(refused.hint().as_deref(), Some("did you mean execution.checkpointing.interval?"));
//! # Ok::<(), millstream::config::ConfigError>(())
//! ```

mod backend;
mod choices;
mod error;
mod keys;
mod overruled;
mod reference;
mod setting;
mod settings;
mod suggest;
mod units;

pub use backend::StateBackend;
pub use choices::{
    CheckpointMode, CheckpointStorage, ClaimMode, RestartKind, Retention, TaskThreads, WaitStrategy,
};
pub use error::{ConfigError, Problem};
pub use keys::{KEYS, Key, MOST_KEY_GROUPS};
pub use reference::reference;
pub use settings::{
    Checkpointing, Exchange, ExponentialDelay, FailureRate, FixedDelay, Pipeline, Recovery, Restart,
    Settings, State, Task,
};
pub use suggest::closest;
pub use units::{ByteSize, DURATION_FORM, MAX_DURATION, format_duration, parse_duration};

use keys::NoEffect;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

/// Where a value was given, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nowhere: the default.
    Default,
    /// In a configuration file.
    File,
    /// In the program.
    Code,
    /// On the command line.
    Define,
}

impl Origin {
    fn phrase(self) -> &'static str {
        match self {
            Self::Default => " (default)",
            Self::File => " (in the configuration file)",
            Self::Code => " (in the program)",
            Self::Define => " (on the command line)",
        }
    }
}

/// What gave a key its value; the greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    origin: Origin,
    /// Within one origin the new name goes before the old one.
    by_new_name: bool,
}

/// Settings together with where each value came from. Reads as the [`Settings`] it holds.
#[derive(Clone, Debug, Default)]
pub struct Config {
    settings: Settings,
    ranks: BTreeMap<&'static str, Rank>,
    warnings: Vec<String>,
}

impl Deref for Config {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl Config {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads entries of one origin.
    ///
    /// # Errors
    /// The first entry that is refused.
    pub fn from_pairs<K: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (K, V)>,
        origin: Origin,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in pairs {
            config.set(key.as_ref(), value.as_ref(), origin)?;
        }
        Ok(config)
    }

    /// Sets a key, unless a stronger origin has set it already. Of two values of the same origin the later one counts,
    /// but one given under an old name never replaces one given under the new name.
    ///
    /// # Errors
    /// An unknown key, one that is not supported yet, or a value that is not of the key's form.
    pub fn set(&mut self, name: &str, value: &str, origin: Origin) -> Result<(), ConfigError> {
        let refused =
            |problem| ConfigError { key: name.to_owned(), value: value.to_owned(), origin, problem };
        if let Some(key) = NoEffect::named(name) {
            let word = key.word(value).map_err(|cause| refused(Problem::Value(cause)))?;
            self.warnings.extend(word);
            return Ok(());
        }
        let Some(key) = Key::named(name) else {
            return if keys::is_as_it_is(name, value) { Ok(()) } else { Err(refused(unknown(name))) };
        };
        let mut read = self.settings.clone();
        key.parse(&mut read, value).map_err(|cause| refused(Problem::Value(cause)))?;
        let rank = Rank { origin, by_new_name: key.name == name };
        let held = self.ranks.get(key.name).copied();
        if let Some(held) = held.filter(|held| held.origin == origin && held.by_new_name != rank.by_new_name)
        {
            let old = if held.by_new_name { name } else { "its old name" };
            self.warnings.push(format!("{} is also given as {old}; the new name counts", key.name));
        }
        if held.is_none_or(|held| rank >= held) {
            self.settings = read;
            self.ranks.insert(key.name, rank);
        }
        Ok(())
    }

    /// Changes settings from a program. What the command line has set stays as it is.
    pub fn edit(&mut self, change: impl FnOnce(&mut Settings)) {
        let before = self.settings.clone();
        change(&mut self.settings);
        let rank = Rank { origin: Origin::Code, by_new_name: true };
        for key in KEYS {
            if key.show(&before) == key.show(&self.settings) {
                continue;
            }
            if self.origin(key) > Origin::Code {
                key.copy(&mut self.settings, &before);
            } else {
                self.ranks.insert(key.name, rank);
            }
        }
    }

    /// Where the value of a key came from.
    pub fn origin(&self, key: &Key) -> Origin {
        self.ranks.get(key.name).map_or(Origin::Default, |rank| rank.origin)
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was accepted and yet deserves a word, such as a key given under two names.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether the settings are within their limits and make sense together.
    ///
    /// # Errors
    /// The first one that does not.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(key) = KEYS.iter().find(|key| !key.within_limit(&self.settings)) {
            return Err(self.refuse(key.name, format!("out of range, allowed is {}", key.limit)));
        }
        let s = &self.settings;
        if s.checkpointing.storage == Some(CheckpointStorage::Filesystem) && s.checkpointing.dir.is_none() {
            let cause = "files need a directory: set execution.checkpointing.dir".to_owned();
            return Err(self.refuse("execution.checkpointing.storage", cause));
        }
        let (interval, backlog) = (s.checkpointing.interval, s.checkpointing.interval_during_backlog);
        if let (Some(interval), Some(backlog)) = (interval, backlog.filter(|backlog| !backlog.is_zero()))
            && backlog < interval
        {
            let cause =
                format!("shorter than execution.checkpointing.interval, {}", format_duration(interval));
            return Err(self.refuse("execution.checkpointing.interval-during-backlog", cause));
        }
        let checkpoints = s.checkpointing.effective();
        if checkpoints.aligned_timeout().is_some() && checkpoints.max_concurrent > 1 {
            let key = "execution.checkpointing.max-concurrent-checkpoints";
            let cause =
                "more than one at a time is not possible with execution.checkpointing.unaligned.enabled";
            return Err(self.refuse(key, cause.to_owned()));
        }
        let backoff = &s.restart.exponential_delay;
        if backoff.initial_backoff > backoff.max_backoff {
            let cause = format!("longer than the longest pause, {}", format_duration(backoff.max_backoff));
            return Err(self.refuse("restart-strategy.exponential-delay.initial-backoff", cause));
        }
        if let Some(most) = s.pipeline.max_parallelism.filter(|most| s.pipeline.parallelism > *most) {
            let cause = format!("more than pipeline.max-parallelism, {most}");
            return Err(self.refuse("parallelism.default", cause));
        }
        if s.recovery.fresh && s.recovery.path.is_some() {
            let cause = "cannot be combined with a checkpoint to start from (-s)".to_owned();
            return Err(self.refuse("execution.state-recovery.fresh", cause));
        }
        Ok(())
    }

    /// The error for the present value of a key.
    fn refuse(&self, name: &'static str, cause: String) -> ConfigError {
        let key = Key::named(name);
        ConfigError {
            key: name.to_owned(),
            value: key.map(|key| key.show(&self.settings)).unwrap_or_default(),
            origin: key.map_or(Origin::Default, |key| self.origin(key)),
            problem: Problem::Value(cause),
        }
    }
}

/// One `key = value` line for each key that is not at its default.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in KEYS.iter().filter(|key| self.origin(key) > Origin::Default) {
            writeln!(f, "{} = {}", key.name, key.show(&self.settings))?;
        }
        Ok(())
    }
}

fn unknown(name: &str) -> Problem {
    if keys::is_not_yet(name) {
        return Problem::NotYet;
    }
    let names = KEYS.iter().flat_map(|key| std::iter::once(&key.name).chain(key.old).copied());
    let meant = closest(name, names).and_then(Key::named);
    Problem::Unknown(meant.map(|key| key.name))
}

#[cfg(test)]
mod tests;
