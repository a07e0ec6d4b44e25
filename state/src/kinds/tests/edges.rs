//! Limits, and bytes that no state would hold.

use super::*;
use crate::key_group::Parallelism;
use crate::keyed::RestoreError;
use crate::{KeyGroup, Snapshots};
use millstream_io::record::{DecodeError, Key};

/// MS-028: items of 1 KiB, until there are too many.
#[test]
fn ms_028_a_list_is_refused_the_element_that_passes_its_limit() {
    let mut declared = Declarations::<String>::new();
    let list = declared.list::<Vec<u8>>("items");
    for (name, make) in BACKENDS {
        let mut states = Subtasks::new(&declared, make, 1);
        let item = [7u8; 1024];
        // The row of the item has its length in front.
        let fit = LIST_BYTES / (1024 + 4 + LIST_ELEMENT);
        states.at("key").list(list).add_all((0..fit).map(|_| &item[..]));
        assert!(states.all[0].take_fault().is_none(), "{name}");
        states.at("key").list(list).add(&item);
        states.at("key").list(list).add(&item);
        let fault = states.all[0].take_fault().expect("it does not fit");
        let hash = String::hash("key");
        let bytes = (fit + 1) * 1044;
        assert!(fault.is_of_data());
        assert_eq!(
            fault.to_string(),
            format!(
                "state \"items\", key with hash {hash:#018x}: with 1044 bytes more its list has {bytes}, and 67108864 is \
                 the most: clear it earlier, or spread it over keys or namespaces"
            )
        );
        // What was there is there, goes into a snapshot, and comes back.
        assert_eq!(states.at("key").list(list).get().filter(|one| *one == item).count() as u64, fit);
        states.freeze();
        states.take();
        states.restore(3);
        assert_eq!(states.at("key").list(list).get().count() as u64, fit);
        states.at("other").list(list).add(&item);
        states.at("key").list(list).clear();
        states.at("key").list(list).add(&item);
        assert!(states.all.iter_mut().all(|states| states.take_fault().is_none()), "{name}");
    }
}

fn restored<K: Key>(
    declared: &Declarations<K>,
    entries: &[(&[u8], &[u8])],
) -> Result<(), (String, RestoreError)> {
    let width = Parallelism::new(1, Some(2)).unwrap();
    let mut states = States::new(declared, width, 0, |_, range| {
        let mut backend = HeapOrdered::new(range);
        entries.iter().for_each(|(key, value)| backend.put(KeyGroup(1), key, value).unwrap());
        Ok(Box::new(backend))
    })
    .unwrap();
    states.restored()
}

/// MS-073, ruling 15: every entry is looked at before it is believed.
#[test]
fn ms_073_entries_that_no_state_would_hold_are_refused() {
    let width = Parallelism::new(1, Some(2)).unwrap();
    let of_group = |group: u16| (0..).find(|key| width.grouping().group(u32::hash(*key)).0 == group).unwrap();
    let (here, there) = (of_group(1u16).to_le_bytes(), of_group(0u16).to_le_bytes());
    let key = |parts: &[&[u8]]| [&here[..], &parts.concat()].concat();
    let refused =
        |declared: &Declarations<u32>, key: &[u8], value: &[u8]| match restored(declared, &[(key, value)]) {
            Err((state, RestoreError::Part { part, .. })) if state == "it" => part,
            other => panic!("{other:?}"),
        };

    let mut value = Declarations::<u32>::new();
    value.value::<bool>("it");
    assert_eq!(restored(&value, &[(&here, &[1])]), Ok(()));
    assert_eq!(refused(&value, &here[..3], &[1]), "key");
    assert_eq!(refused(&value, &key(&[&[0]]), &[1]), "key");
    assert_eq!(refused(&value, &here, &[2]), "value");
    assert_eq!(refused(&value, &here, &[]), "value");
    assert_eq!(refused(&value, &here, &[1, 1]), "value");
    let stray = RestoreError::Stray { group: KeyGroup(1), belongs: KeyGroup(0) };
    assert_eq!(restored(&value, &[(&there, &[1])]), Err(("it".to_owned(), stray)));

    let mut list = Declarations::<u32>::new();
    list.with_namespaces::<u16>().list::<bool>("it");
    let end = 17u64.to_be_bytes();
    assert_eq!(restored(&list, &[(&key(&[&[1, 9, 9], &end]), &[1]), (&key(&[&[0], &end]), &[0])]), Ok(()));
    assert_eq!(refused(&list, &key(&[]), &[1]), "namespace");
    assert_eq!(refused(&list, &key(&[&[2, 9, 9], &end]), &[1]), "namespace");
    assert_eq!(refused(&list, &key(&[&[1, 9]]), &[1]), "namespace");
    assert_eq!(refused(&list, &key(&[&[0], &end[1..]]), &[1]), "place in the list");
    assert_eq!(refused(&list, &key(&[&[0], &end]), &[7]), "element");

    let mut map = Declarations::<u32>::new();
    map.with_ttl(Ttl::new(std::time::Duration::MAX)).map::<char, ()>("it");
    assert_eq!(restored(&map, &[(&key(&[b"a\0\0\0"]), &[0; 8])]), Ok(()));
    assert_eq!(refused(&map, &key(&[&[0xff; 4]]), &[0; 8]), "key in the map");
    assert_eq!(refused(&map, &key(&[b"a\0\0\0"]), &[0; 9]), "value");
    assert_eq!(refused(&map, &key(&[b"a\0\0\0"]), &[0; 7]), "time of the last access");
}

/// A list whose end is damaged, but well-formed, is not longer than can be.
#[test]
fn an_end_beyond_all_bounds_is_an_error_and_no_overflow() {
    let mut declared = Declarations::<u32>::new();
    let list = declared.list::<bool>("it");
    let width = Parallelism::new(1, Some(1)).unwrap();
    let key = [&7u32.to_le_bytes()[..], &(u64::MAX - 3).to_be_bytes()].concat();
    let mut states = States::new(&declared, width, 0, |_, range| {
        let mut backend = HeapOrdered::new(range);
        backend.put(KeyGroup(0), &key, &[1]).unwrap();
        Ok(Box::new(backend))
    })
    .unwrap();
    states.restored().unwrap();
    states.at(u32::hash(7), 7).list(list).add(true);
    assert!(matches!(states.take_fault(), Some(StateFault::ListTooLong { bytes: u64::MAX, .. })));
}

/// A backend of somebody else's may return anything.
#[test]
fn what_cannot_be_read_is_a_fault_and_reads_as_nothing() {
    let mut declared = Declarations::<u32>::new();
    let (text, list) = (declared.value::<String>("text"), declared.list::<String>("list"));
    let width = Parallelism::new(1, Some(1)).unwrap();
    let mut states = States::new(&declared, width, 0, |_, range| {
        let mut backend = HeapOrdered::new(range);
        let key = 7u32.to_le_bytes();
        backend.put(KeyGroup(0), &key, b"\x01\0\0\0\xff").unwrap();
        backend.put(KeyGroup(0), &[&key[..], &[0; 8]].concat(), b"no row").unwrap();
        Ok(Box::new(backend))
    })
    .unwrap();
    let mut seven = states.at(u32::hash(7), 7);
    assert_eq!(seven.value(text).get(), None);
    assert_eq!(seven.list(list).get().count(), 0);
    let fault = states.take_fault().unwrap();
    assert!(
        matches!(&fault, StateFault::Unreadable { cause: DecodeError::Utf8, state, .. } if state == "text"),
        "{fault}"
    );
    assert!(states.take_fault().is_none());
}

/// What the backend does not take is told with state and key.
#[test]
fn a_value_that_the_backend_refuses_is_a_fault_that_changes_nothing() {
    let mut declared = Declarations::<u32>::new();
    let value = declared.value::<Vec<u8>>("blob");
    let width = Parallelism::new(1, Some(1)).unwrap();
    let mut states =
        States::new(&declared, width, 0, |_, range| Ok(Box::new(Narrow(HeapOrdered::new(range))))).unwrap();
    states.at(u32::hash(7), 7).value(value).set(&[1; 10]);
    states.at(u32::hash(7), 7).value(value).set(&[2; 100]);
    let fault = states.take_fault().unwrap();
    assert!(fault.is_of_data());
    assert_eq!(
        fault.to_string(),
        format!(
            "state \"blob\", key with hash {:#018x}: a key and its value take 108 bytes, more than the 50 that a state on \
             pages can hold",
            u32::hash(7)
        )
    );
    assert_eq!(states.at(u32::hash(7), 7).value(value).get(), Some(&[1; 10][..]));
}

/// Takes small entries only.
struct Narrow(HeapOrdered);

impl OrderedBackend for Narrow {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, group: KeyGroup, key: &[u8]) -> Option<&[u8]> {
        self.0.get(group, key)
    }
    fn put(&mut self, group: KeyGroup, key: &[u8], value: &[u8]) -> Result<(), crate::paged::PagedFault> {
        let (size, most) = (key.len() + value.len(), 50);
        if size > most {
            return Err(crate::paged::PagedFault::TooLarge { size, most });
        }
        self.0.put(group, key, value)
    }
    fn remove(&mut self, group: KeyGroup, key: &[u8]) -> bool {
        self.0.remove(group, key)
    }
    fn first_from(&self, group: KeyGroup, key: &[u8]) -> Option<crate::ordered::OrderedEntry<'_>> {
        self.0.first_from(group, key)
    }
    fn last_before(&self, group: KeyGroup, key: &[u8]) -> Option<crate::ordered::OrderedEntry<'_>> {
        self.0.last_before(group, key)
    }
    fn scan(&self, group: KeyGroup, key: &[u8], f: &mut dyn FnMut(&[u8], &[u8]) -> bool) {
        self.0.scan(group, key, f);
    }
}

impl Snapshots for Narrow {
    fn freeze(&mut self) {
        self.0.freeze();
    }
    fn drain(&mut self, budget: usize) -> bool {
        self.0.drain(budget)
    }
    fn take_snapshot(&mut self) -> crate::KeyedSnapshot {
        self.0.take_snapshot()
    }
    fn is_frozen(&self) -> bool {
        self.0.is_frozen()
    }
    fn abandon(&mut self) -> bool {
        self.0.abandon()
    }
    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        self.0.restore(group, entries, bytes)
    }
}
