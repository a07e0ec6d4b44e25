//! What a subtask's snapshots begin with after a restart: the chain of those that states build on, and keyed state that
//! the program does not have any more, which stays in each of them (ST-03).

use super::restored::{Restored, outlives};
use super::snapshot::SnapshotWriter;
use crate::error::Error;
use millstream_io::id::CheckpointId;
use millstream_state::Backend;
use millstream_state::layout::{data_file, shared_name};
use millstream_state::metadata::{FileEntry, Handle, KeyedHandle, SHARED_FILE};
use millstream_state::snapshot::{Chain, Merging, SnapshotReader, StateId};
use std::collections::HashSet;

/// Parts of states, and the files that they are in.
type Named = (Vec<(StateId, KeyedHandle)>, Vec<FileEntry>);

impl SnapshotWriter {
    /// The subtask has restored its state: its next snapshot goes on from that.
    ///
    /// What is carried and would go with its checkpoint, or with somebody else's files, is copied to where it stays, once.
    pub(crate) fn go_on(&mut self, restored: &mut Restored) -> Result<(), Error> {
        let files = restored.owned.as_deref().unwrap_or_default().to_vec();
        let built_on = std::mem::take(&mut restored.built_on);
        let carried = std::mem::take(&mut restored.carried);
        let kept: HashSet<StateId> = carried.iter().map(|(id, ..)| *id).collect();
        let copied: HashSet<StateId> =
            kept.iter().copied().filter(|id| is_copied(*id, &carried, restored.owned.is_some())).collect();
        let (copies, named): (Vec<_>, Vec<_>) =
            carried.iter().cloned().map(|(id, _, part)| (id, part)).partition(|(id, _)| copied.contains(id));
        let (more, new) = self.copy(copies, restored)?;
        let parts = [built_on, named, more].concat();
        let (mut chain, is_whole) = match Chain::resume(parts, &[files, new].concat()) {
            Some(chain) => (chain, true),
            None => {
                // In whatever way they follow one another: what is carried does not build on others.
                let (all, new) =
                    self.copy(carried.into_iter().map(|(id, _, part)| (id, part)).collect(), restored)?;
                (Chain::resume(all, &new).unwrap_or_default(), false)
            }
        };
        chain.keep(kept);
        self.turns.go_on(chain, !is_whole);
        Ok(())
    }

    /// Copies parts of the restored checkpoint into a file of this subtask that no snapshot has named yet.
    fn copy(&self, parts: Vec<(StateId, KeyedHandle)>, restored: &Restored) -> Result<Named, Error> {
        let reader = restored.reader.as_ref().map(SnapshotReader::another);
        let (Some(reader), Some(permit), false) = (reader, restored.permit, parts.is_empty()) else {
            return Ok(Named::default());
        };
        // All that are to come have larger numbers than the one that is restored.
        let first = CheckpointId(permit.checkpoint().0.saturating_add(1));
        let name = shared_name(self.line, Some(first), &format!("{}c", self.name));
        let dir = self.dir.join("chk-0");
        // Of an attempt that came to nothing, or no checkpoint of the line would be older than it.
        match self.storage.remove(&data_file(&dir, &format!("{SHARED_FILE}{name}"))) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut copying = Merging::copy(reader, self.storage.clone(), &dir, &name, parts, self.options);
        while !copying.step(u64::MAX)? {}
        let (parts, file) = copying.finish()?.into_parts();
        Ok((parts, file.into_iter().collect()))
    }
}

/// Whether what is carried of a state cannot be named where it is. Of what is no chain there is one part in a checkpoint.
fn is_copied(id: StateId, carried: &[(StateId, Backend, KeyedHandle)], owned: bool) -> bool {
    let parts = || carried.iter().filter(|(of, ..)| *of == id);
    let stays = |part: &KeyedHandle| match part.data {
        Handle::Inline(_) => true,
        Handle::File { .. } => owned && outlives(part),
    };
    let is_chain = parts().count() < 2 || parts().all(|(_, backend, _)| *backend == Backend::Paged);
    !is_chain || !parts().all(|(_, _, part)| stays(part))
}
