//! Whether the shared files of a simulated job are those that its checkpoints name (BE-05).

use crate::job_dir::job_dir;
use millstream_io::storage::{Storage, read_all};
use millstream_state::layout::{checkpoint_of, shared_of};
use millstream_state::metadata::{METADATA_FILE, Metadata, SHARED_FILE};
use std::collections::BTreeMap;

/// What is amiss when nothing is under way: a file that a complete checkpoint names is not there, or has another length; or
/// one is there that belongs to a checkpoint that was complete long ago, and that none names.
pub(crate) fn amiss(disk: &dyn Storage) -> Option<String> {
    let (mut named, mut newest) = (BTreeMap::new(), None);
    for entry in disk.list(&job_dir()).ok()? {
        let Some(id) = checkpoint_of(&entry.name) else { continue };
        // Without metadata it is not complete.
        let Ok(bytes) = read_all(disk, &job_dir().join(&entry.name).join(METADATA_FILE)) else { continue };
        let metadata = match Metadata::parse(&bytes) {
            Ok(metadata) => metadata,
            Err(error) => return Some(format!("chk-{id}: {error}")),
        };
        newest = newest.max(Some((id, metadata.line)));
        let shared =
            metadata.files.iter().filter_map(|file| Some((file.name.strip_prefix(SHARED_FILE)?, file)));
        named.extend(shared.map(|(name, file)| (name.to_owned(), (id, file.len))));
    }
    let (newest, line) = newest?;
    let dir = job_dir().join("shared");
    for (name, (id, len)) in &named {
        let found = disk.stat(&dir.join(name)).map(|stat| stat.len);
        if found.as_ref().ok() != Some(len) {
            return Some(format!("shared/{name}, which chk-{id} names with {len} bytes, is {found:?}"));
        }
    }
    let files = disk.list(&dir).unwrap_or_default().into_iter();
    let left = files.filter(|entry| {
        let owner = shared_of(&entry.name);
        matches!(owner, Some((of, Some(first))) if of == line && first <= newest)
            && !named.contains_key(&*entry.name.to_string_lossy())
    });
    let left: Vec<_> = left.map(|entry| entry.name).collect();
    (!left.is_empty()).then(|| format!("behind checkpoint {newest} no checkpoint names {left:?} in shared"))
}
