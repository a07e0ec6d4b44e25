//! Checkpoints on disk that a run whose own stay in memory would pass over.

use super::settings;
use crate::config::Settings;
use crate::error::Error;
use millstream_io::storage::Storage;
use millstream_state::checkpoint_store::{Opening, StartFrom};
use std::sync::Arc;

/// Refuses the start of a job whose checkpoints stay in memory when there are some on `disk` that it would go on from: to
/// begin anew beside them is something that only `--fresh` asks for (ruling 1, MS-020).
///
/// # Errors
/// What is there, or why that cannot be seen.
pub(crate) fn refuse_passing_over(
    settings: &Settings,
    name: &str,
    holder: &str,
    disk: Arc<dyn Storage>,
) -> Result<(), Error> {
    const FILES: &str = "execution.checkpointing.storage=filesystem, with execution.checkpointing.dir,";
    match (settings::start_from(settings), &settings.checkpointing.dir) {
        (StartFrom::Path(path), _) => {
            let cause = "checkpoints of this run are kept in memory, so that those in files are not read";
            Err(Error::refuse("start", path.display().to_string(), cause)
                .with_hint(format!("{FILES} goes on from it")))
        }
        (StartFrom::Latest, Some(dir)) if !name.trim().is_empty() => {
            let opening = Opening::new(disk, dir, name, holder, &StartFrom::Latest);
            let opening = opening.map_err(|error| Error::from(error).refused())?;
            let Some(snapshot) = opening.start().snapshot() else { return Ok(()) };
            let cause = "the job would go on from this checkpoint, but execution.checkpointing.storage is memory, and \
                         then nothing is read from files";
            Err(Error::refuse("start", snapshot.display().to_string(), cause).with_hint(
                "go on from it with execution.checkpointing.storage=filesystem, or begin without state with `--fresh`",
            ))
        }
        (StartFrom::Latest | StartFrom::Fresh, _) => Ok(()),
    }
}
