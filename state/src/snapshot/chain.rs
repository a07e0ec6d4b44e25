//! A subtask's snapshots of which each builds on the one before: what a checkpoint has to name to have all of the state.

use super::WrittenSnapshot;
use super::merging::{MergePlan, Merged};
use crate::keyed::Extent;
use crate::metadata::{FileEntry, KeyedHandle, SHARED_FILE, SubtaskState};
use crate::operator_id::OperatorId;
use std::collections::HashSet;
use std::sync::Arc;
use thiserror::Error;

/// A keyed state: its operator, and which of the operator's it is.
pub type StateId = (OperatorId, u16);

/// More parts than these are not worth a restore's time, nor a metadata's space, and a state has that many only while
/// they are merged more slowly than they come.
const MOST_PARTS: usize = 256;

/// The same where they are not merged at all.
const MOST_UNMERGED: usize = 32;

/// The parts of each state from its last base on, by the snapshot that they are of, the oldest first.
///
/// A part stays one of the chain also when its checkpoint was aborted: it is what changed, whoever wanted to know.
#[derive(Debug, Default)]
pub struct Chain {
    /// The states that have a base.
    pub(super) based: HashSet<StateId>,
    pub(super) links: Vec<Link>,
    /// States that nobody writes any more.
    kept: HashSet<StateId>,
    /// Links there ever were.
    made: u64,
    /// Files that no later snapshot names.
    dropped: Vec<Arc<str>>,
}

/// What one snapshot has of the chain, or several that were merged: its states' parts, and the file that they are in,
/// unless they are so small that they are in the metadata.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub number: u64,
    pub parts: Vec<(StateId, KeyedHandle)>,
    pub file: Option<FileEntry>,
}

impl Link {
    pub fn nothing() -> Self {
        Self { number: 0, parts: Vec::new(), file: None }
    }

    fn len(&self) -> u64 {
        self.parts.iter().map(|(_, part)| part.data.len()).sum()
    }
}

/// A snapshot of changes came although what they build on is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it has only what changed since an earlier one, which is lost; the next one will have everything")]
pub struct Broken;

impl Chain {
    /// Adds what was written of a snapshot, of which `extents` says what each state's part is; puts in their place all
    /// parts of each state, with their files.
    ///
    /// # Errors
    /// [`Broken`]: until there is a new base there is nothing to add to.
    pub fn extend(
        &mut self,
        written: &mut WrittenSnapshot,
        extents: &[(StateId, Extent)],
    ) -> Result<(), Broken> {
        for (id, extent) in extents {
            match extent {
                Extent::Changes if !self.based.contains(id) => {
                    self.drop_files(written.files.drain(..));
                    return Err(Broken);
                }
                Extent::Changes => continue,
                Extent::Base => drop(self.based.insert(*id)),
                Extent::Whole => drop(self.based.remove(id)),
            }
            self.links.iter_mut().for_each(|link| link.parts.retain(|(of, _)| of != id));
        }
        self.drop_empty();
        self.add_link(written);
        for (operator, _) in &self.kept {
            // Of an operator that nobody writes anything else of.
            if written.operators.iter().all(|(of, _)| of != operator) {
                written.operators.push((*operator, SubtaskState::default()));
            }
        }
        for (operator, state) in &mut written.operators {
            let parts = self.links.iter().flat_map(|link| &link.parts).filter(|((of, _), _)| of == operator);
            state.keyed.extend(parts.map(|(_, part)| part.clone()));
            state.keyed.sort_by_key(|part| part.state);
        }
        written.files.extend(self.links.iter().filter_map(|link| link.file.clone()));
        Ok(())
    }

    /// Moves what later snapshots may build on.
    fn add_link(&mut self, written: &mut WrittenSnapshot) {
        let mut parts = Vec::new();
        for (operator, state) in &mut written.operators {
            let id = |part: &KeyedHandle| (*operator, part.state);
            let chained = state.keyed.extract_if(.., |part| self.based.contains(&id(part)));
            parts.extend(chained.map(|part| (id(&part), part)));
        }
        let file = written.files.extract_if(.., |file| file.name.starts_with(SHARED_FILE)).next();
        if !parts.is_empty() {
            let number = self.number();
            self.links.push(Link { number, parts, file });
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// What was to be the next part is lost: only a base may follow.
    pub fn break_off(&mut self) {
        self.based.retain(|id| self.kept.contains(id));
        self.links.iter_mut().for_each(|link| link.parts.retain(|(of, _)| self.kept.contains(of)));
        self.drop_empty();
    }

    /// Links without parts are none.
    fn drop_empty(&mut self) {
        let empty: Vec<_> = self.links.extract_if(.., |link| link.parts.is_empty()).collect();
        self.drop_files(empty.into_iter().filter_map(|link| link.file));
    }

    fn drop_files(&mut self, files: impl IntoIterator<Item = FileEntry>) {
        let names = files.into_iter().filter_map(|file| file.name.strip_prefix(SHARED_FILE).map(Arc::from));
        self.dropped.extend(names);
    }

    /// The shared files, as they are called in their directory, that no snapshot names which is added from now on, though earlier
    /// ones may. Each is said once.
    pub fn take_dropped(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.dropped)
    }

    /// Nobody writes these states any more: their parts stay, whatever becomes of others (ST-03).
    pub fn keep(&mut self, states: impl IntoIterator<Item = StateId>) {
        self.kept.extend(states);
    }

    /// Whether a new base would be worth more than it costs. Merging keeps the chain short, so that this is for where it
    /// does not keep pace; where it is `failing`, the changes of a state are not to grow larger than its base, or many.
    pub fn is_long(&self, failing: bool) -> bool {
        let changes: u64 = self.links.iter().skip(1).map(Link::len).sum();
        let outgrown = || self.links.first().is_some_and(|base| changes > base.len());
        self.links.len() > MOST_PARTS || failing && (self.links.len() > MOST_UNMERGED || outgrown())
    }

    /// Neighbouring links that should become one, if there are any: those of which the newer one is at least half as large
    /// as the older one, so that of those that stay each is less than half as large as the one before. All of them
    /// together then are less than twice as large as the first, and no more than the logarithm of how much larger that
    /// is than the last.
    ///
    /// They stay what they are until they are [replaced](Chain::replace).
    pub fn to_merge(&self) -> Option<MergePlan> {
        let is_due = |newer: u64, older: &Link| newer.saturating_mul(2) >= older.len();
        let last = (1..self.links.len()).rev().find(|n| is_due(self.links[*n].len(), &self.links[n - 1]))?;
        // However many lines they have in common, together they are no smaller than the largest.
        let (mut first, mut largest) = (last, self.links[last].len());
        while first > 0 && is_due(largest, &self.links[first - 1]) {
            first -= 1;
            largest = largest.max(self.links[first].len());
        }
        let links = &self.links[first..=last];
        Some(MergePlan {
            links: links.iter().map(|link| link.number).collect(),
            parts: links.iter().map(|link| link.parts.clone()).collect(),
        })
    }

    /// Puts what links were merged into in their place: snapshots that are added from now on name it instead of them. Returns
    /// whether they are still there, in which case nothing else may have been named instead.
    pub fn replace(&mut self, merged: Merged) -> bool {
        let of = |link: &Link| merged.links.contains(&link.number);
        let Some(first) = self.links.iter().position(of) else {
            self.drop_files(merged.file);
            return false;
        };
        let end = first + merged.links.len();
        let same = |links: &[Link]| links.iter().map(|link| link.number).eq(merged.links.iter().copied());
        // A state that has a new base has taken its parts out.
        let count = |links: &[Link]| links.iter().map(|link| link.parts.len()).sum::<usize>();
        if !self.links.get(first..end).is_some_and(|links| same(links) && count(links) == merged.merged) {
            self.drop_files(merged.file);
            return false;
        }
        let number = self.number();
        let link = Link { number, parts: merged.parts, file: merged.file };
        let replaced: Vec<_> = self.links.splice(first..end, [link]).collect();
        self.drop_files(replaced.into_iter().filter_map(|link| link.file));
        true
    }
}
