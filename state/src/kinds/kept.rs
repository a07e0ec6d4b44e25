//! One state of a subtask: its backend, and what is known of its entries.

use super::check::{Check, Flaw};
use super::ttl::{self, TIME};
use super::{Declared, Ttl, TtlUpdate, TtlVisibility};
use crate::descriptor::StateKind;
use crate::key_group::{Grouping, KeyGroup, KeyGroupRange};
use crate::keyed::RestoreError;
use crate::ordered::OrderedBackend;
use crate::paged::PagedFault;
use millstream_io::record::DecodeError;

/// See the module page.
pub(super) struct Kept {
    pub name: String,
    pub kind: StateKind,
    pub backend: Box<dyn OrderedBackend>,
    pub ttl: Option<Ttl>,
    check: Check,
    /// A value on its way to the backend.
    row: Vec<u8>,
    cleaning: Cleaning,
}

/// How far the removal of what has expired has come.
struct Cleaning {
    group: KeyGroup,
    /// The next entry has this key, or comes behind it.
    from: Vec<u8>,
    /// Keys of entries to remove, one behind the other.
    expired: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Kept {
    pub fn new(declared: &Declared, range: KeyGroupRange, backend: Box<dyn OrderedBackend>) -> Self {
        Self {
            name: declared.descriptor.name.clone(),
            kind: declared.descriptor.kind,
            backend,
            ttl: declared.ttl,
            check: declared.check,
            row: Vec::new(),
            cleaning: Cleaning {
                group: range.start(),
                from: Vec::new(),
                expired: Vec::new(),
                ends: Vec::new(),
            },
        }
    }

    /// Whether its entries begin with the key that they belong to.
    pub fn is_by_key(&self) -> bool {
        !matches!(self.kind, StateKind::EventTimers | StateKind::ProcessingTimers)
    }

    /// A value without the time in front of it.
    pub fn body<'a>(&self, value: &'a [u8]) -> Result<&'a [u8], DecodeError> {
        if self.ttl.is_none() {
            return Ok(value);
        }
        match ttl::split(value) {
            Some((_, rest)) => Ok(rest),
            None => Err(DecodeError::Truncated { need: TIME, have: value.len() }),
        }
    }

    /// Gives an entry the value that `write` appends. Returns how many bytes that were.
    pub fn put(
        &mut self,
        group: KeyGroup,
        key: &[u8],
        now: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), PagedFault> {
        self.write(now, write);
        self.put_written(group, key)
    }

    /// Writes a value down, and returns how many bytes it has without the time.
    pub fn write(&mut self, now: u64, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        self.row.clear();
        if self.ttl.is_some() {
            self.row.extend_from_slice(&now.to_le_bytes());
        }
        let before = self.row.len();
        write(&mut self.row);
        self.row.len() - before
    }

    /// Gives an entry the value that was [written](Self::write) down.
    pub fn put_written(&mut self, group: KeyGroup, key: &[u8]) -> Result<(), PagedFault> {
        self.backend.put(group, key, &self.row)
    }

    /// Before an entry is read, or read to be written again: removes it when it has expired and may not be seen, and makes it
    /// young again when it is read and that does.
    pub fn touch(&mut self, group: KeyGroup, key: &[u8], now: u64, reading: bool) -> Result<(), PagedFault> {
        let Self { ttl: Some(ttl), backend, row, .. } = self else { return Ok(()) };
        let Some((last, body)) = backend.get(group, key).and_then(ttl::split) else { return Ok(()) };
        if ttl.is_over(last, now) {
            if ttl.visibility == TtlVisibility::NeverReturnExpired {
                backend.remove(group, key);
            }
        } else if reading && ttl.update == TtlUpdate::OnReadAndWrite && last < now {
            row.clear();
            row.extend_from_slice(&now.to_le_bytes());
            row.extend_from_slice(body);
            return backend.put(group, key, row);
        }
        Ok(())
    }

    /// Looks at about so many more entries, round and round, and removes those that have expired (TT-03). Returns how many.
    pub fn clean(&mut self, range: KeyGroupRange, looks: usize, now: u64) -> usize {
        let (Some(ttl), false) = (self.ttl, self.backend.is_empty()) else { return 0 };
        let (mut left, mut groups, before) = (looks, range.len() + 1, self.backend.len());
        while left > 0 && groups > 0 {
            let Self { backend, cleaning, .. } = self;
            let Cleaning { group, from, expired, ends } = cleaning;
            let mut next = None;
            backend.scan(*group, from, &mut |key, value| {
                if left == 0 {
                    next = Some(key.to_vec());
                    return false;
                }
                left -= 1;
                if ttl::split(value).is_some_and(|(last, _)| ttl.is_over(last, now)) {
                    expired.extend_from_slice(key);
                    ends.push(expired.len());
                }
                true
            });
            self.remove_expired();
            if let Some(next) = next {
                self.cleaning.from = next;
                break;
            }
            self.cleaning.from.clear();
            let behind = KeyGroup(self.cleaning.group.0.wrapping_add(1));
            self.cleaning.group = if range.contains(behind) { behind } else { range.start() };
            // A group that has nothing is a look as well.
            left = left.saturating_sub(1);
            groups -= 1;
        }
        before - self.backend.len()
    }

    fn remove_expired(&mut self) {
        let Self { backend, cleaning: Cleaning { group, expired, ends, .. }, .. } = self;
        let mut begin = 0;
        for end in ends.drain(..) {
            backend.remove(*group, &expired[begin..end]);
            begin = end;
        }
        expired.clear();
    }

    /// Looks at every entry that was restored.
    pub fn verify(&self, range: KeyGroupRange, grouping: Grouping) -> Result<(), RestoreError> {
        for group in range.iter() {
            let mut found = Ok(());
            self.backend.scan(group, &[], &mut |key, value| {
                found = self.verify_entry(group, grouping, key, value);
                found.is_ok()
            });
            found?;
        }
        Ok(())
    }

    fn verify_entry(
        &self,
        group: KeyGroup,
        grouping: Grouping,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), RestoreError> {
        let checked = match self.body(value) {
            Ok(body) => (self.check)(key, body),
            Err(cause) => Err(Flaw { part: "time of the last access", cause }),
        };
        match checked {
            Err(Flaw { part, cause }) => Err(RestoreError::Part { group, part, cause }),
            Ok(hash) if grouping.group(hash) != group => {
                Err(RestoreError::Stray { group, belongs: grouping.group(hash) })
            }
            Ok(_) => Ok(()),
        }
    }
}
