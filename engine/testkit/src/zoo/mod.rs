//! Jobs to simulate: small, and each with something that a fault could break.
//!
//! Whatever the parallelism, each has the same lines of output: what depends on the order of records that come
//! different ways is not in them.

mod batch;
mod jobs;
mod ledger;
mod loops;
mod parts;
mod shelves;
mod tally;

use crate::{Simulation, put};
pub use batch::Batch;
pub use ledger::Ledger;
use millstream::Env;
use millstream_io::storage::MemoryStorage;
pub use shelves::Shelves;
pub use tally::Tally;

/// A job of the zoo.
#[derive(Clone, Copy)]
pub struct Job {
    /// What it is called.
    pub name: &'static str,
    /// Describes it.
    pub build: fn(&Env),
    /// Whether it has keyed state.
    pub keyed: bool,
    /// Whether its output can be told to be right also when records may count more than once: then lines that end in
    /// ` total N` have a greater number, and others may come again, but nothing else may differ.
    pub at_least_once: bool,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn job(name: &'static str, build: fn(&Env)) -> Job {
    Job { name, build, keyed: true, at_least_once: true }
}

/// All of them. Each reads [`RECORDS`] records and writes lines to [`OUT`] with a two-phase sink.
pub const JOBS: &[Job] = &[
    Job { keyed: false, ..job("pass", jobs::pass) },
    job("count", jobs::count),
    job("running", jobs::running),
    Job { at_least_once: false, ..job("union", jobs::union) },
    job("two-keys", jobs::two_keys),
    Job { keyed: false, ..job("numbered", jobs::numbered) },
    job("dedup", jobs::dedup),
    job("words", jobs::words),
    job("bulky", jobs::bulky),
    job("fork", jobs::fork),
    job("batched", jobs::batched),
    job("apart", jobs::apart),
    Job { at_least_once: false, ..job("ledger", jobs::ledger) },
    Job { keyed: false, ..job("collatz", loops::collatz) },
    job("countdown", loops::countdown),
    job("nested", loops::nested),
];

/// Records that every job reads.
pub const RECORDS: u64 = 200;

/// Where every job writes.
pub const OUT: &str = "/out";

/// Where jobs that read files find them.
pub const IN: &str = "/in";

impl Job {
    /// The lines of an undisturbed run.
    ///
    /// # Panics
    /// When even that fails.
    pub fn expected(&self) -> Vec<String> {
        let run = Simulation::new(0).disk(disk()).undisturbed().run(self.build);
        run.unwrap_or_else(|violation| panic!("{}: undisturbed: {violation}", self.name)).lines(OUT)
    }
}

/// The disk on which the jobs begin: with the files that some of them read.
pub fn disk() -> MemoryStorage {
    let disk = MemoryStorage::new();
    let line = |i: u64| format!("{} {} {}\n", i % 3, i % 17, i);
    let lines = |from: u64, to: u64| (from..to).map(line).collect::<String>();
    put(&disk, format!("{IN}/long.txt"), lines(0, 150).as_bytes());
    put(&disk, format!("{IN}/short.txt"), lines(150, 160).as_bytes());
    put(&disk, format!("{IN}/late.txt"), lines(160, RECORDS).as_bytes());
    put(&disk, format!("{IN}/empty.txt"), b"");
    disk
}
