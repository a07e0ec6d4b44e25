//! A chain of snapshots that goes on over a restart: it begins with what was restored.

use super::chain::{Chain, Link, StateId};
use crate::key_group::KeyGroup;
use crate::metadata::{FileEntry, Handle, KeyedHandle};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

impl Chain {
    /// The chain of which these are all parts, as a checkpoint names them; of each state's key groups the older ones come
    /// first. `files` has the files of that checkpoint. `None` where that cannot be: a file that is not one of them, or
    /// parts of which each comes before the other.
    ///
    /// Parts that were narrowed to some of their key groups are as good as whole ones, and of parts of several subtasks
    /// one chain is made.
    pub fn resume(parts: Vec<(StateId, KeyedHandle)>, files: &[FileEntry]) -> Option<Self> {
        let known: HashMap<_, _> = files.iter().map(|file| (&file.name, file)).collect();
        let (mut links, mut by_file) = (Vec::<Link>::new(), HashMap::<Arc<str>, usize>::new());
        // The links that are due only when another one has been: each behind those with older bytes of a key group.
        let mut newest = HashMap::<(StateId, KeyGroup), usize>::new();
        let (mut behind, mut waits_for) = (Vec::<BTreeSet<usize>>::new(), Vec::<usize>::new());
        for (state, part) in parts {
            let (found, file) = match &part.data {
                Handle::Inline(_) => (None, None),
                Handle::File { name, .. } => {
                    (by_file.get(name).copied(), Some(FileEntry::clone(known.get(name)?)))
                }
            };
            let at = found.unwrap_or(links.len());
            if at == links.len() {
                by_file.extend(file.iter().map(|file| (file.name.clone(), at)));
                links.push(Link { number: 0, parts: Vec::new(), file });
                behind.push(BTreeSet::new());
                waits_for.push(0);
            }
            for range in &part.groups {
                if let Some(older) = newest.insert((state, range.group), at)
                    && older != at
                    && behind[older].insert(at)
                {
                    waits_for[at] += 1;
                }
            }
            links[at].parts.push((state, part));
        }
        Self::in_order(links, &behind, waits_for)
    }

    fn in_order(mut links: Vec<Link>, behind: &[BTreeSet<usize>], mut waits_for: Vec<usize>) -> Option<Self> {
        let mut due: BTreeSet<usize> = (0..links.len()).filter(|at| waits_for[*at] == 0).collect();
        let mut chain = Self::default();
        while let Some(at) = due.pop_first() {
            let Link { parts, file, .. } = std::mem::replace(&mut links[at], Link::nothing());
            chain.based.extend(parts.iter().map(|(state, _)| *state));
            let number = chain.number();
            chain.links.push(Link { number, parts, file });
            for next in &behind[at] {
                waits_for[*next] -= 1;
                if waits_for[*next] == 0 {
                    due.insert(*next);
                }
            }
        }
        (chain.links.len() == links.len()).then_some(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{GroupForm, GroupRange};
    use crate::operator_id::OperatorId;

    fn part(file: &str, groups: &[u16]) -> KeyedHandle {
        let range =
            |group: &u16| GroupRange { group: KeyGroup(*group), entries: 1, offset: 0, len: 1, crc: 0 };
        let groups: Vec<_> = groups.iter().map(range).collect();
        let len = groups.len() as u64;
        let data = if file.is_empty() {
            Handle::Inline(vec![0; groups.len()].into())
        } else {
            Handle::File { name: format!("../shared/{file}").into(), offset: 0, len }
        };
        KeyedHandle { state: 0, groups, data, form: GroupForm::Backend }
    }

    /// The files of the chain that is made of parts of states (a number, a file, key groups), in its order.
    fn order(parts: &[(u16, &str, &[u16])]) -> Option<Vec<String>> {
        let files: Vec<_> = ["a", "b", "c", "d"]
            .map(|name| FileEntry { name: format!("../shared/{name}").into(), len: 9, crc: 0 })
            .into();
        let of = |state: u16| (OperatorId::of_uid("o"), state);
        let parts = parts.iter().map(|(state, file, groups)| (of(*state), part(file, groups))).collect();
        let chain = Chain::resume(parts, &files)?;
        let name = |link: &Link| {
            link.file.as_ref().map_or(String::new(), |file| file.name["../shared/".len()..].into())
        };
        Some(chain.links.iter().map(|link| format!("{}{}", name(link), link.parts.len())).collect())
    }

    #[test]
    fn be_04_parts_of_one_snapshot_are_one_link_and_older_bytes_come_first() {
        assert_eq!(order(&[]).unwrap(), [""; 0]);
        let two_states = [(0, "b", &[0, 1][..]), (0, "c", &[1]), (1, "a", &[0]), (1, "b", &[0])];
        assert_eq!(order(&two_states).unwrap(), ["a1", "b2", "c1"]);
        // Of two subtasks, which both name a file that was one's, and go on by themselves.
        let two_subtasks =
            [(0, "a", &[0, 1][..]), (0, "b", &[0]), (0, "a", &[2]), (0, "c", &[2]), (0, "", &[2])];
        assert_eq!(order(&two_subtasks).unwrap(), ["a2", "b1", "c1", "1"]);
    }

    #[test]
    fn be_04_what_makes_no_chain_is_none() {
        assert_eq!(order(&[(0, "z", &[0])]), None, "a file that the checkpoint does not have");
        let crossed = [(0, "a", &[0][..]), (0, "b", &[0]), (1, "b", &[0]), (1, "a", &[0])];
        assert_eq!(order(&crossed), None);
    }
}
