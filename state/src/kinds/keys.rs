//! A visit to every key that has something in any state.

use super::States;
use crate::key_group::KeyGroup;
use millstream_io::record::Key;
use std::marker::PhantomData;

/// How far a visit to all keys has come; it begins with the default. Between its steps states may change in any way: keys that
/// it has not come to are found as they are then.
#[derive(Debug)]
pub struct KeyVisit<K> {
    /// The group it is in; none before it begins.
    group: Option<KeyGroup>,
    /// The row of the key it is at.
    key: Vec<u8>,
    /// No key of the group is known yet.
    fresh: bool,
    of: PhantomData<fn() -> K>,
}

impl<K> Default for KeyVisit<K> {
    fn default() -> Self {
        Self { group: None, key: Vec::new(), fresh: true, of: PhantomData }
    }
}

impl<K: Key> KeyVisit<K> {
    /// The key it is at, and its hash; none at the beginning and at the end.
    pub fn key(&self) -> Option<(u64, K::Ref<'_>)> {
        if self.fresh {
            return None;
        }
        K::parse(&self.key).ok().map(|(key, _)| (K::hash(key), key))
    }
}

impl<K: Key> States<K> {
    /// Goes to the next key that has something in a state other than timers, group by group, each key once. Returns whether
    /// there is one.
    pub fn next_key(&self, visit: &mut KeyVisit<K>) -> bool {
        let mut group = *visit.group.get_or_insert(self.range.start());
        loop {
            if (visit.fresh || step_over(&mut visit.key)) && self.first_key(group, &mut visit.key) {
                visit.fresh = false;
                return true;
            }
            visit.fresh = true;
            visit.key.clear();
            if group == self.range.end() {
                return false;
            }
            group = KeyGroup(group.0 + 1);
            visit.group = Some(group);
        }
    }

    /// The row of the first key of a group from `key` on, instead of that.
    fn first_key(&self, group: KeyGroup, key: &mut Vec<u8>) -> bool {
        let firsts = self.kept.iter().filter(|kept| kept.is_by_key()).filter_map(|kept| {
            let (entry, _) = kept.backend.first_from(group, key)?;
            let (_, used) = K::parse(entry).ok()?;
            Some(&entry[..used])
        });
        match firsts.min() {
            Some(first) => {
                let first = first.to_vec();
                *key = first;
                true
            }
            None => false,
        }
    }
}

/// From bytes to the first ones behind all that begin with them, if there are any.
fn step_over(bytes: &mut Vec<u8>) -> bool {
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::step_over;

    #[test]
    fn behind_all_that_begins_with_bytes() {
        let next = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            step_over(&mut bytes).then_some(bytes)
        };
        assert_eq!(next(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(next(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(next(b"\xff"), None);
        assert_eq!(next(b""), None);
    }
}
