//! A subtask's snapshots of which each builds on the one before: what a checkpoint has to name to have all of the state.

use super::WrittenSnapshot;
use crate::keyed::Extent;
use crate::metadata::{FileEntry, Handle, KeyedHandle, SubtaskState};
use crate::operator_id::OperatorId;
use std::collections::HashMap;
use thiserror::Error;

/// A keyed state: its operator, and which of the operator's it is.
pub type StateId = (OperatorId, u16);

/// More parts than these are not worth a restore's time, nor a metadata's space.
const MOST_PARTS: usize = 32;

/// The parts of each state from its last base on, the oldest first.
///
/// A part stays one of the chain also when its checkpoint was aborted: it is what changed, whoever wanted to know.
#[derive(Debug, Default)]
pub struct Chain {
    states: HashMap<StateId, Vec<KeyedHandle>>,
    files: Vec<FileEntry>,
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
                Extent::Changes if !self.states.contains_key(id) => return Err(Broken),
                Extent::Changes => {}
                Extent::Base => drop(self.states.insert(*id, Vec::new())),
                Extent::Whole => drop(self.states.remove(id)),
            }
        }
        for (operator, state) in &mut written.operators {
            self.complete(*operator, state);
        }
        let Self { states, files } = self;
        let is_in = |keyed: &KeyedHandle, file: &FileEntry| matches!(&keyed.data, Handle::File { name, .. } if *name == file.name);
        files.append(&mut written.files);
        let (chained, own): (Vec<_>, Vec<_>) =
            files.drain(..).partition(|file| states.values().flatten().any(|keyed| is_in(keyed, file)));
        // What is not of the chain is of this snapshot alone, or of a base that is past.
        let own = own.into_iter().filter(|file| written.names(&file.name));
        written.files = own.chain(chained.iter().cloned()).collect();
        *files = chained;
        Ok(())
    }

    fn complete(&mut self, operator: OperatorId, state: &mut SubtaskState) {
        let mut all = Vec::new();
        for keyed in state.keyed.drain(..) {
            match self.states.get_mut(&(operator, keyed.state)) {
                Some(parts) => parts.push(keyed),
                None => all.push(keyed),
            }
        }
        let chained = self.states.iter().filter(|((of, _), _)| *of == operator);
        all.extend(chained.flat_map(|(_, parts)| parts.iter().cloned()));
        all.sort_by_key(|keyed| keyed.state);
        state.keyed = all;
    }

    /// What was to be the next part is lost: only a base may follow.
    pub fn break_off(&mut self) {
        self.states.clear();
        self.files.clear();
    }

    /// Whether a new base would be worth more than it costs: the changes of a state have grown larger than its base, or
    /// many.
    pub fn is_long(&self) -> bool {
        self.states.values().any(|parts| {
            let len = |part: &KeyedHandle| part.data.len();
            let changes: u64 = parts.iter().skip(1).map(len).sum();
            parts.len() > MOST_PARTS || parts.first().is_some_and(|base| changes > len(base))
        })
    }
}
