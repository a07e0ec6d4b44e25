//! The bundled jobs.

mod count;
pub mod csv;
mod dedup;
mod flights;
pub mod flights_logic;
pub mod options;
mod overlap;
mod parts;
mod pass;
mod rejects;
mod running;
mod wordcount;
pub mod words;

use crate::job_args::{BuildError, JobArgs};
use millstream::Env;

/// A job that comes with the command.
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Describes it.
    pub build: fn(&Env, &mut JobArgs) -> Result<(), BuildError>,
}

/// All of them, in the order of the list.
pub static BUNDLED: &[Bundled] = &[
    Bundled { name: "pass", about: "Copy lines, byte for byte", build: pass::build },
    Bundled {
        name: "wordcount",
        about: "Count words: word,count at the end of the input",
        build: wordcount::build,
    },
    Bundled {
        name: "count",
        about: "Count CSV records by key: key,count at the end of the input",
        build: count::build,
    },
    Bundled {
        name: "running",
        about: "Sum key[,n] by key: key,sum so far for every record",
        build: running::build,
    },
    Bundled { name: "dedup", about: "Keep the first CSV record of each key", build: dedup::build },
    Bundled {
        name: "flights",
        about: "Running totals of flights per airline and per origin, with a table at the end",
        build: flights::build,
    },
];

/// The bundled job of that name.
pub fn bundled(name: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|job| job.name == name)
}
