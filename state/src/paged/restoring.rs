//! What a restore has brought, by key group: entries, or pages that are still to be looked at.

use super::{ENTRIES, PAGES};
use crate::key_group::{KeyGroup, KeyGroupRange};
use crate::keyed::RestoreError;

/// See the module page.
#[derive(Debug)]
pub(crate) struct Restoring {
    range: KeyGroupRange,
    /// For each key group of the range.
    came: Vec<Came>,
}

/// What came of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Nothing,
    Entries,
    /// Pages, which should have so many keys.
    Pages(u64),
}

/// A part of a group by its form.
pub(crate) enum Form<'a> {
    Entries(&'a [u8]),
    Pages(&'a [u8]),
}

impl Restoring {
    pub fn new(range: KeyGroupRange) -> Self {
        Self { range, came: vec![Came::Nothing; range.len()] }
    }

    /// Whether something came of a group that is one of the range.
    pub fn has_begun(&mut self, group: KeyGroup) -> bool {
        self.came(group).is_some_and(|came| *came != Came::Nothing)
    }

    /// The index of a group in the range.
    pub fn index(&self, group: KeyGroup) -> usize {
        usize::from(group.0.wrapping_sub(self.range.start().0))
    }

    fn came(&mut self, group: KeyGroup) -> Option<&mut Came> {
        let index = self.index(group);
        self.came.get_mut(index)
    }

    /// What a part of a group is; nothing where the group is not one of the range.
    ///
    /// # Errors
    /// No form of a part, or one that does not go with what came before.
    pub fn part<'a>(
        &mut self,
        group: KeyGroup,
        entries: u64,
        bytes: &'a [u8],
    ) -> Result<Option<Form<'a>>, RestoreError> {
        let Some(came) = self.came(group) else { return Ok(None) };
        match (bytes.split_first(), *came) {
            (Some((&ENTRIES, bytes)), Came::Nothing | Came::Entries) => {
                *came = Came::Entries;
                Ok(Some(Form::Entries(bytes)))
            }
            (Some((&PAGES, bytes)), Came::Nothing | Came::Pages(_)) => {
                *came = Came::Pages(entries);
                Ok(Some(Form::Pages(bytes)))
            }
            _ => Err(Self::out_of_turn(group)),
        }
    }

    /// Entries of a group come. Whether it is one of the range.
    pub fn entries(&mut self, group: KeyGroup) -> bool {
        self.came(group).map(|came| *came = Came::Entries).is_some()
    }

    /// The error that a part does not belong where it came.
    pub fn out_of_turn(group: KeyGroup) -> RestoreError {
        let problem = "they begin with a form that is not known, or that does not follow the one before";
        RestoreError::Pages { group, at: 0, problem }
    }

    /// The groups whose pages are still to be looked at, and how many keys each should have.
    pub fn take_loaded(&mut self) -> Vec<(KeyGroup, u64)> {
        let mut all = Vec::new();
        for (group, came) in self.range.iter().zip(&mut self.came) {
            if let Came::Pages(entries) = *came {
                *came = Came::Nothing;
                all.push((group, entries));
            }
        }
        all
    }

    /// Whether pages came that are still to be looked at.
    pub fn has_pages(&self) -> bool {
        self.came.iter().any(|came| matches!(came, Came::Pages(_)))
    }

    /// Whether entries came, which are in no pages of a chain.
    pub fn has_entries(&self) -> bool {
        self.came.contains(&Came::Entries)
    }
}
