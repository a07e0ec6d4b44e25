//! The engine's sides: what a user would write, through the public interface, in the default configuration.

pub mod chain;
pub mod changes;
pub mod checkpointed;
pub mod exchange;
pub mod files;
pub mod fold;
pub mod freeze;
pub mod insert;
pub mod keyed_sum;
pub mod large;
pub mod latency;
pub mod line;
pub mod overtaking;
pub mod restore;
pub mod simulated;
pub mod spill;
pub mod startup;
pub mod state;
pub mod storage;
pub mod wordcount;

use millstream::{Env, Summary};
use std::time::Duration;

/// Turns checkpoints on, into a directory that goes when the guard is dropped.
fn checkpoint_directory(env: &Env, every: Option<Duration>) -> Result<Option<tempfile::TempDir>, String> {
    let Some(every) = every else { return Ok(None) };
    let directory = tempfile::tempdir().map_err(|error| format!("make a directory: {error}"))?;
    env.configure(|settings| {
        settings.checkpointing.interval = Some(every);
        settings.checkpointing.dir = Some(directory.path().to_path_buf());
    });
    Ok(Some(directory))
}

/// A run says something about checkpoints only when it took most of those that were due.
fn enough(every: Option<Duration>, seconds: f64, summary: &Summary) -> Result<(), String> {
    let due = every.map_or(0.0, |every| seconds / every.as_secs_f64()) as u64;
    let taken = summary.checkpoints_completed;
    if every.is_some() && (taken < 2 || taken * 2 < due) {
        return Err(format!("{taken} checkpoints in {seconds:.1} s, of {due} that were due"));
    }
    Ok(())
}
