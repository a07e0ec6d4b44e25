//! Shared files that no checkpoint will ever name (BE-05). Pure.
//!
//! What a completed checkpoint does not name any more goes once a later one is complete, which the store sees to. As long as none
//! is, because all of them fail, nobody would remove what merges and new bases leave behind. A file is nobody's once its
//! subtask's chain has dropped it and all checkpoints were aborted whose snapshots may have named it: those from the one
//! on that its name says, up to the newest when it was dropped.

use millstream_io::id::CheckpointId;
use millstream_state::layout::shared_of;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// See the module page. Of one attempt.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// From this checkpoint on none is complete, and all were taken by this attempt.
    since: Option<CheckpointId>,
    /// Those of them that may still become complete.
    open: BTreeSet<CheckpointId>,
    files: Vec<(RangeInclusive<CheckpointId>, Arc<str>)>,
}

impl Dropped {
    /// The snapshot of this checkpoint is about to be completed.
    pub fn begun(&mut self, id: CheckpointId) {
        self.since.get_or_insert(id);
        self.open.insert(id);
    }

    /// This checkpoint will never be complete.
    pub fn aborted(&mut self, id: CheckpointId) {
        self.open.remove(&id);
    }

    /// This one is: what it or one before may have named is the store's concern.
    pub fn completed(&mut self, id: CheckpointId) {
        let next = CheckpointId(id.0.saturating_add(1));
        self.since = self.since.max(Some(next));
        self.open = self.open.split_off(&next);
        self.files.retain(|(by, _)| *by.start() > id);
    }

    /// The chain has dropped a file, and nothing behind snapshot `newest` names it.
    pub fn add(&mut self, name: Arc<str>, newest: CheckpointId) {
        let first = shared_of(OsStr::new(&*name)).and_then(|(_, first)| first);
        if let (Some(first), Some(since)) = (first, self.since)
            && since <= first
        {
            self.files.push((first..=newest.max(first), name));
        }
    }

    /// Those that are nobody's.
    pub fn take(&mut self) -> Vec<Arc<str>> {
        let open = &self.open;
        let gone = self.files.extract_if(.., |(by, _)| open.range(by.clone()).next().is_none());
        gone.map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(dropped: &mut Dropped, name: &str, newest: u64) {
        dropped.add(name.into(), CheckpointId(newest));
    }

    fn take(dropped: &mut Dropped) -> Vec<String> {
        dropped.take().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn be_05_a_dropped_file_goes_once_all_that_may_have_named_it_are_aborted() {
        let mut dropped = Dropped::default();
        (5..=7).map(CheckpointId).for_each(|id| dropped.begun(id));
        add(&mut dropped, "1-5-0-0", 6);
        add(&mut dropped, "1-7-0-0", 7);
        add(&mut dropped, "1-4-0-0", 6);
        dropped.aborted(CheckpointId(5));
        assert_eq!(take(&mut dropped), [""; 0]);
        dropped.aborted(CheckpointId(6));
        assert_eq!(take(&mut dropped), ["1-5-0-0"], "what is older than the attempt is not its own");
        dropped.aborted(CheckpointId(7));
        assert_eq!(take(&mut dropped), ["1-7-0-0"]);
    }

    #[test]
    fn be_05_what_a_completed_checkpoint_may_name_stays() {
        let mut dropped = Dropped::default();
        (5..=8).map(CheckpointId).for_each(|id| dropped.begun(id));
        add(&mut dropped, "1-5-0-0", 7);
        add(&mut dropped, "1-7-0-0", 8);
        dropped.completed(CheckpointId(6));
        add(&mut dropped, "1-6-0-0", 8);
        (5..=8).map(CheckpointId).for_each(|id| dropped.aborted(id));
        assert_eq!(take(&mut dropped), ["1-7-0-0"]);
    }
}
