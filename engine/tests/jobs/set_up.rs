//! Jobs that take a checkpoint when they are asked to.

use millstream::{Env, JobHandle};
use std::path::Path;
use std::time::Duration;

/// With checkpoints in `dir`. None is due before the test is over.
pub fn env(dir: &Path) -> Env {
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_secs(600));
        settings.checkpointing.dir = Some(dir.to_owned());
    });
    env
}

/// Waits for a checkpoint, which there is as soon as all subtasks run.
pub fn checkpoint(job: &JobHandle) {
    while job.checkpoint().is_err() {
        std::thread::yield_now();
    }
}
