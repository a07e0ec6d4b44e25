//! Chains whose links are merged: what is merged when, that snapshots say the same before and after, and how long they get.

use super::super::{
    Chain, Destination, OperatorSnapshot, SnapshotReader, StateId, SubtaskSnapshot, WriteOptions,
    WrittenSnapshot, write,
};
use super::*;
use crate::key_group::{KeyGroup, Parallelism};
use crate::keyed::{Extent, GroupChunk, KeyedBackend, KeyedSnapshot, Snapshots};
use crate::layout::shared_name;
use crate::metadata::SubtaskState;
use crate::operator_id::OperatorId;
use crate::paged::PagedState;
use crate::testing::groups_of;
use millstream_io::id::CheckpointId;
use millstream_io::record::Key;
use millstream_io::storage::MemoryStorage;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::PathBuf;

const DIR: &str = "/c/chk-0";

fn id(state: u16) -> StateId {
    (OperatorId::from_bits(7), state)
}

/// A snapshot of states of so many bytes, in a file of its own; as it is when it has been added to the chain.
fn add(chain: &mut Chain, name: &str, states: &[(u16, Extent, u64)]) -> WrittenSnapshot {
    let name: Arc<str> = format!("{SHARED_FILE}{name}").into();
    let (mut keyed, mut offset) = (Vec::new(), 0);
    for (state, _, len) in states {
        let data = Handle::File { name: name.clone(), offset, len: *len };
        let groups = vec![GroupRange { group: KeyGroup(0), entries: 1, offset: 0, len: *len, crc: 0 }];
        keyed.push(KeyedHandle { state: *state, groups, data, form: GroupForm::Backend });
        offset += len;
    }
    let operators = vec![(id(0).0, SubtaskState { keyed, ..SubtaskState::default() })];
    let mut written = WrittenSnapshot { operators, files: vec![FileEntry { name, len: offset, crc: 0 }] };
    let extents: Vec<_> = states.iter().map(|(state, extent, _)| (id(*state), *extent)).collect();
    chain.extend(&mut written, &extents).unwrap();
    written
}

fn chain_of(lens: &[u64]) -> Chain {
    let mut chain = Chain::default();
    for (n, len) in lens.iter().enumerate() {
        let extent = if n == 0 { Extent::Base } else { Extent::Changes };
        add(&mut chain, &n.to_string(), &[(0, extent, *len)]);
    }
    chain
}

/// The design's rule by hand: the newer one of two neighbours is to be less than half as large as the older one.
#[test]
fn neighbours_of_similar_size_are_merged() {
    let planned = |lens: &[u64]| chain_of(lens).to_merge().map(|plan| plan.links);
    for short in [&[][..], &[100], &[100, 49], &[100, 49, 24], &[100, 40, 19, 9, 4, 1]] {
        assert_eq!(planned(short), None, "{short:?}");
    }
    assert_eq!(planned(&[100, 50]), Some(vec![1, 2]));
    assert_eq!(planned(&[100, 40, 20]), Some(vec![2, 3]), "what becomes of them may be no larger than 40");
    assert_eq!(planned(&[100, 10, 3, 1, 1, 1, 1]), Some(vec![4, 5, 6, 7]));
    assert_eq!(planned(&[100, 3, 2, 1, 1]), Some(vec![2, 3, 4, 5]));
    assert_eq!(planned(&[1, 200, 150, 1]), Some(vec![1, 2, 3]), "the last one is not yet in the way");
}

#[test]
fn a_chain_is_long_where_merging_does_not_keep_pace() {
    let mut lens = vec![1000];
    lens.extend([2; 32]);
    assert!(!chain_of(&lens[..32]).is_long(true));
    assert!(chain_of(&lens).is_long(true) && !chain_of(&lens).is_long(false));
    assert!(chain_of(&[10, 6, 5]).is_long(true) && !chain_of(&[10, 6, 5]).is_long(false));
    lens.extend([2; 256]);
    assert!(!chain_of(&lens[..256]).is_long(false) && chain_of(&lens[..257]).is_long(false));
}

fn merged_of(plan: MergePlan, name: &str, len: u64) -> Merged {
    let name: Arc<str> = format!("{SHARED_FILE}{name}").into();
    let data = Handle::File { name: name.clone(), offset: 0, len };
    let parts = vec![(id(0), KeyedHandle { state: 0, groups: Vec::new(), data, form: GroupForm::Backend })];
    let merged = plan.parts.iter().map(Vec::len).sum();
    Merged { links: plan.links, merged, parts, file: Some(FileEntry { name, len, crc: 0 }) }
}

fn names(written: &WrittenSnapshot) -> Vec<&str> {
    written.files.iter().map(|file| &file.name[SHARED_FILE.len()..]).collect()
}

#[test]
fn snapshots_that_come_while_a_merge_is_under_way_stay_behind_it() {
    let mut chain = chain_of(&[100, 10, 10]);
    let plan = chain.to_merge().unwrap();
    let meanwhile = add(&mut chain, "3", &[(0, Extent::Changes, 1)]);
    assert_eq!(names(&meanwhile), ["0", "1", "2", "3"]);
    assert!(chain.replace(merged_of(plan.clone(), "m", 15)));
    assert_eq!(names(&add(&mut chain, "4", &[(0, Extent::Changes, 1)])), ["0", "m", "3", "4"]);
    assert!(!chain.replace(merged_of(plan, "n", 15)), "what was merged is there no more");
    assert_eq!(names(&add(&mut chain, "5", &[(0, Extent::Changes, 1)])), ["0", "m", "3", "4", "5"]);
}

#[test]
fn a_merge_of_what_is_past_changes_nothing() {
    let mut chain = chain_of(&[100, 10, 10]);
    let plan = chain.to_merge().unwrap();
    add(&mut chain, "3", &[(0, Extent::Base, 100)]);
    assert!(!chain.replace(merged_of(plan.clone(), "m", 15)));
    chain.break_off();
    assert!(!chain.replace(merged_of(plan, "m", 15)));
    // One of two states has a new base: what was merged of it must not come back.
    let mut chain = Chain::default();
    let both = |extent, len| [(0, extent, len), (1, extent, len)];
    add(&mut chain, "0", &both(Extent::Base, 100));
    add(&mut chain, "1", &both(Extent::Changes, 90));
    let plan = chain.to_merge().unwrap();
    add(&mut chain, "2", &[(0, Extent::Base, 1), (1, Extent::Changes, 1)]);
    assert!(!chain.replace(merged_of(plan, "m", 150)));
    let next = add(&mut chain, "3", &both(Extent::Changes, 1));
    let parts = next.operators[0].1.keyed.iter().map(|part| part.state).collect::<Vec<_>>();
    assert_eq!((names(&next), parts), (vec!["0", "1", "2", "3"], vec![0, 0, 1, 1, 1, 1]));
}

type Model = std::collections::BTreeMap<u64, u64>;

/// A subtask with one state of pages, its chain, and every snapshot that there ever was.
struct Subject {
    storage: MemoryStorage,
    options: WriteOptions,
    state: PagedState<u64, u64>,
    model: Model,
    chain: Chain,
    taken: Vec<(WrittenSnapshot, Model)>,
    merges: usize,
}

fn state() -> PagedState<u64, u64> {
    let parallelism = Parallelism::new(1, Some(4)).unwrap();
    PagedState::new(parallelism.range_of(0), parallelism.max()).unwrap().small_up_to(0)
}

impl Subject {
    fn new(inline_threshold: usize) -> Self {
        let storage = MemoryStorage::new();
        for dir in [DIR, "/c/shared"] {
            storage.create_dir_all(Path::new(dir)).unwrap();
        }
        Self {
            storage,
            options: WriteOptions { inline_threshold, write_buffer: 4096 },
            state: state(),
            model: Model::new(),
            chain: Chain::default(),
            taken: Vec::new(),
            merges: 0,
        }
    }

    fn set(&mut self, key: u64, value: Option<u64>) {
        self.state.with(u64::hash(key), key, |mut entry| match value {
            Some(value) => *entry = value,
            None => entry.clear(),
        });
        match value {
            Some(value) => drop(self.model.insert(key, value)),
            None => drop(self.model.remove(&key)),
        }
    }

    fn snapshot(&mut self) -> &WrittenSnapshot {
        self.state.freeze();
        while !self.state.drain(1000) {}
        let keyed = self.state.take_snapshot();
        let extent = keyed.extent;
        let operator =
            OperatorSnapshot { id: id(0).0, finished: false, keyed: vec![(0, keyed)], lists: Vec::new() };
        let shared = shared_name(1, Some(CheckpointId(self.taken.len() as u64)), "0-0");
        let to = Destination { dir: Path::new(DIR), name: "own", shared: &shared };
        let snapshot = SubtaskSnapshot { operators: vec![operator] };
        let mut written = write(&self.storage, to, snapshot, self.options).unwrap();
        self.chain.extend(&mut written, &[(id(0), extent)]).unwrap();
        self.taken.push((written, self.model.clone()));
        &self.taken[self.taken.len() - 1].0
    }

    fn begin_merge(&mut self) -> Option<Merging> {
        let name = format!("1-next-{}", self.merges);
        let plan = self.chain.to_merge()?;
        self.merges += 1;
        Some(Merging::new(Arc::new(self.storage.clone()), Path::new(DIR), &name, plan, self.options))
    }

    fn end_merge(&mut self, mut merging: Merging) -> Merged {
        while !merging.step(1).unwrap() {}
        let mut merged = merging.finish().unwrap();
        let name = format!("1-{}-0-0m{}", self.taken.len(), self.merges);
        merged.rename(&self.storage, Path::new(DIR), &name).unwrap();
        merged
    }

    fn merge_all(&mut self) {
        while let Some(merging) = self.begin_merge() {
            let merged = self.end_merge(merging);
            assert!(self.chain.replace(merged));
        }
    }

    /// All that was ever taken says what it did, merges or not.
    fn check(&self) {
        for (n, (written, model)) in self.taken.iter().enumerate() {
            let reader = SnapshotReader::new(Arc::new(self.storage.clone()), PathBuf::from(DIR));
            let mut again = state();
            let parts: Vec<_> = written.operators[0].1.keyed.iter().collect();
            reader.restore(&parts, &mut again, &|_, _| {}).unwrap();
            again.restored().unwrap();
            assert_eq!(again.len(), model.len(), "snapshot {n}");
            for (key, value) in model {
                assert_eq!(again.with(u64::hash(*key), *key, |v| *v), *value, "snapshot {n}, key {key}");
            }
        }
    }
}

/// Snapshots with some changes each, of which `pick` draws the keys; returns the most parts that one had, and the most
/// bytes, counted in those of a new image.
fn run_to_length(inline_threshold: usize, mut pick: impl FnMut(u64) -> u64) -> (usize, f64) {
    const KEYS: u64 = 20_000;
    let mut subject = Subject::new(inline_threshold);
    (0..KEYS).for_each(|key| subject.set(key, Some(key)));
    let base = subject.snapshot().bytes();
    let (mut most, mut bytes) = (0, 0);
    for n in 0..300 {
        for i in 0..50 {
            subject.set(pick(n * 50 + i) % KEYS, Some(n));
        }
        let written = subject.snapshot();
        (most, bytes) = (most.max(written.operators[0].1.keyed.len()), bytes.max(written.bytes()));
        subject.merge_all();
    }
    // The first and the last few, and those around them: each takes its time.
    subject.taken.drain(10..290);
    subject.check();
    (most, bytes as f64 / base as f64)
}

/// A change is a hundredth of the state: at most seven parts of which each is less than half of the one before, and the one
/// that has just come.
#[test]
fn chains_stay_logarithmic_and_less_than_twice_the_state() {
    let uniform = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    for threshold in [0, 20 << 10] {
        let (most, bytes) = run_to_length(threshold, uniform);
        assert!(
            (4..=8).contains(&most) && (1.2..2.1).contains(&bytes),
            "{most} parts, {bytes} times the state"
        );
    }
    let (most, bytes) = run_to_length(0, |n| n % 50);
    assert!(most == 3 && bytes < 1.1, "{most} parts, {bytes} times the state: always the same lines");
}

#[test]
fn what_is_small_stays_in_the_metadata() {
    let mut subject = Subject::new(2000);
    (0..1000).for_each(|key| subject.set(key, Some(key)));
    subject.snapshot();
    for n in 0..8 {
        subject.set(n, None);
        assert_eq!(subject.snapshot().files.len(), 1, "only the base is large");
        subject.merge_all();
    }
    assert!(subject.merges > 2);
    for n in 0..64 {
        subject.set(n * 100, Some(n));
    }
    subject.snapshot();
    assert_eq!(subject.snapshot().files.len(), 2);
    subject.check();
}

/// A part whose bytes are not what they were, or not what they should be: the merge says which file.
#[test]
fn er_22_a_merge_names_the_damaged_file() {
    let mut subject = Subject::new(0);
    (0..100).for_each(|key| subject.set(key, Some(key)));
    subject.snapshot();
    (0..100).for_each(|key| subject.set(key, Some(0)));
    subject.snapshot();
    let storage = Arc::new(subject.storage.clone());
    let plan = subject.chain.to_merge().unwrap();
    let merge = |plan: MergePlan| {
        let mut merging = Merging::new(storage.clone(), Path::new(DIR), "1-next-m", plan, subject.options);
        merging.step(u64::MAX).unwrap_err()
    };
    let path = Path::new("/c/shared/1-1-0-0");
    let good = millstream_io::storage::read_all(&*storage, path).unwrap();
    let mut bad = good.clone();
    bad[100] ^= 1;
    storage.publish(path, &bad).unwrap();
    let error = merge(plan.clone());
    assert!(matches!(&error, StateError::Damaged { path: at, .. } if at == path), "{error}");
    // With a checksum that fits.
    let mut wrong = plan.clone();
    bad.clone_from(&good);
    bad[0] = 0;
    storage.publish(path, &bad).unwrap();
    let range = &mut wrong.parts[1][0].1.groups[0];
    range.crc = crc32fast::hash(&bad[..range.len as usize]);
    let error = merge(wrong);
    assert!(matches!(&error, StateError::Entries { path: at, .. } if at == path), "{error}");
    storage.remove(path).unwrap();
    let error = merge(plan);
    assert!(error.to_string().contains("1-1-0-0"), "{error}");
}

/// Two states, one of which has nothing in some snapshots, in one file: each keeps its own.
#[test]
fn states_of_a_file_are_merged_side_by_side() {
    let subject = Subject::new(0);
    let (storage, mut chain) = (Arc::new(subject.storage), Chain::default());
    let line = |group: u16, stamp: u8| {
        let bytes = [&[1, 0, 9][..], &[stamp; 64]].concat();
        GroupChunk { group: KeyGroup(group), entries: stamp.into(), bytes }
    };
    let snapshots = [
        (Extent::Base, [vec![line(0, 1), line(2, 2)], vec![line(0, 3)]]),
        (Extent::Changes, [vec![], vec![line(1, 4)]]),
        (Extent::Changes, [vec![line(2, 5), line(3, 6)], vec![line(0, 7)]]),
    ];
    for (n, (extent, states)) in snapshots.into_iter().enumerate() {
        let keyed = (0..).zip(states).map(|(n, groups)| (n, KeyedSnapshot { groups, extent })).collect();
        let operator = OperatorSnapshot { id: id(0).0, finished: false, keyed, lists: Vec::new() };
        let to = Destination { dir: Path::new(DIR), name: "own", shared: &n.to_string() };
        let snapshot = SubtaskSnapshot { operators: vec![operator] };
        let mut written = write(&*storage, to, snapshot, subject.options).unwrap();
        chain.extend(&mut written, &[(id(0), extent), (id(1), extent)]).unwrap();
    }
    let plan = chain.to_merge().unwrap();
    assert_eq!(plan.links, [1, 2, 3]);
    let mut merging = Merging::new(storage.clone(), Path::new(DIR), "m", plan, subject.options);
    assert!(!merging.step(1).unwrap() && merging.step(u64::MAX).unwrap());
    let merged = merging.finish().unwrap();
    let reader = SnapshotReader::new(storage, PathBuf::from(DIR));
    let mut found = Vec::new();
    for (state, part) in &merged.parts {
        for GroupChunk { group, entries, bytes } in groups_of(&reader, part).unwrap() {
            assert_eq!((bytes.len(), u64::from(bytes[3])), (67, entries));
            found.push((state.1, group.0, entries));
        }
    }
    assert_eq!(found, [(0, 0, 1), (0, 2, 5), (0, 3, 6), (1, 0, 7), (1, 1, 4)]);
    assert_eq!(merged.file.map(|file| file.len), Some(5 * 67));
}

#[derive(Clone, Debug)]
enum Step {
    Set(u64, Option<u64>),
    Many(u64),
    Snapshot,
    Begin,
    End,
    Base,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..400u64, prop::option::weighted(0.8, any::<u64>())).prop_map(|(key, value)| Step::Set(key, value)),
        1 => any::<u64>().prop_map(Step::Many),
        5 => Just(Step::Snapshot),
        3 => Just(Step::Begin),
        3 => Just(Step::End),
        1 => Just(Step::Base),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Changes, snapshots, new bases, and merges that end while other things go on: every snapshot has what the state had.
    #[test]
    fn snapshots_are_the_same_whatever_is_merged(threshold in 0..3000usize, steps in vec(step(), 1..120)) {
        let mut subject = Subject::new(threshold);
        let mut under_way = None;
        for step in steps {
            match step {
                Step::Set(key, value) => subject.set(key, value),
                Step::Many(value) => (0..300).for_each(|key| subject.set(key * 3, Some(value ^ key))),
                Step::Snapshot => drop(subject.snapshot()),
                Step::Begin if under_way.is_none() => under_way = subject.begin_merge(),
                Step::End => {
                    if let Some(merging) = under_way.take() {
                        let merged = subject.end_merge(merging);
                        subject.chain.replace(merged);
                    }
                }
                Step::Base => subject.state.forget_base(),
                Step::Begin => {}
            }
        }
        subject.merge_all();
        subject.snapshot();
        subject.check();
    }
}
