//! Snapshots of changes over restarts: what a checkpoint names, and what it writes itself (BE-04, CL-02).

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::{CollectSink, Collected};
use millstream::{CheckpointId, Env, JobId};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::{JobDir, Metadata};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Keys, of which the base has all.
const KEYS: u64 = 5_000;

/// Counts how often each key came, in pages.
pub struct Counting {
    pub source: Fed,
    sink: CollectSink<(u64, u64)>,
    seen: Collected<(u64, u64)>,
}

impl Counting {
    pub fn new() -> Self {
        let sink = CollectSink::new();
        Self { source: Fed::new(KEYS * 10), seen: sink.collected(), sink }
    }

    pub fn env(&self, parallelism: i64) -> Env {
        let env = env();
        env.configure(|settings| {
            settings.state.backend = StateBackend::Paged;
            settings.state.paged_small_state = ByteSize(0);
        });
        env.source(self.source.clone())
            .name("in")
            .uid("in")
            .key_by::<u64>(|n| n.get() % KEYS)
            .process::<u64, (u64, u64)>("count", |cx, _, count, out| {
                *count += 1;
                out.emit((cx.key(), *count));
            })
            .uid("count")
            .max_parallelism(8)
            .parallelism(parallelism)
            .sink(self.sink.clone())
            .uid("out");
        env
    }

    /// Up to the `n`th record, then a checkpoint; how many bytes that wrote, and how many it has.
    #[track_caller]
    pub fn checkpoint(&self, hand: &mut Hand, n: u64) -> (CheckpointId, u64, u64) {
        self.source.allow(n);
        hand.run_all();
        let id = hand.checkpoint();
        let metrics = hand.control.metrics().checkpoints.latest_completed().unwrap().metrics;
        (id, metrics.bytes, metrics.full_bytes)
    }

    /// Ends the job: each key has counted every one of the `n` records once.
    #[track_caller]
    pub fn check(&self, hand: Hand, n: u64) {
        drop(hand);
        let mut counts = BTreeMap::<u64, Vec<u64>>::new();
        self.seen.take().into_iter().for_each(|(key, count)| counts.entry(key).or_default().push(count));
        for (key, mut found) in counts {
            found.sort_unstable();
            let times = (1..=n).filter(|record| record % KEYS == key).count() as u64;
            assert!(found.iter().copied().eq(1..=times), "key {key}: {found:?}, {times} times");
        }
    }
}

pub fn dir() -> JobDir {
    JobDir::new(Path::new("/ck"), JobId::of("by hand"))
}

pub fn metadata(disk: &MemoryStorage, id: CheckpointId) -> Metadata {
    let bytes = read_all(disk, &dir().checkpoint(id).join("_metadata")).unwrap();
    Metadata::parse(&bytes).unwrap()
}

pub fn files(metadata: &Metadata) -> BTreeSet<String> {
    let shared = metadata.files.iter().filter_map(|file| file.name.strip_prefix("../shared/"));
    shared.map(str::to_owned).collect()
}

pub fn in_shared(disk: &MemoryStorage) -> BTreeSet<String> {
    let names = disk.list(&dir().shared()).unwrap();
    names.into_iter().map(|entry| entry.name.into_string().unwrap()).collect()
}

/// BE-04: behind a kill, and behind a failed attempt, the next checkpoint has what changed since the one that was restored, and
/// names that one's files.
#[test]
fn be_04_the_chain_goes_on_over_restarts() {
    let mut disk = MemoryStorage::new();
    let job = Counting::new();
    let mut hand = Hand::begin(&job.env(1), &disk);
    let (first, base, _) = job.checkpoint(&mut hand, KEYS);
    let named = files(&metadata(&disk, first));
    assert_eq!(named.len(), 1);
    assert!(base > KEYS * 16, "{base} bytes");
    let mut read = KEYS;
    for round in 0..6 {
        if round % 2 == 0 {
            drop(hand);
            disk = disk.kill_image();
            hand = Hand::begin(&job.env(1), &disk);
        } else {
            hand.fail("process");
            hand.finish_restart();
        }
        read += 10;
        let (id, written, full) = job.checkpoint(&mut hand, read);
        assert!(written < 2_000 && full > KEYS * 16, "{written} of {full} bytes");
        assert!(named.is_subset(&files(&metadata(&disk, id))));
        assert_eq!(files(&metadata(&disk, id)), in_shared(&disk), "BE-05");
    }
    job.check(hand, read);
}

/// KG-05: also at another parallelism, of which several subtasks then name one file, or one subtask those of several.
#[test]
fn be_04_the_chain_goes_on_at_another_parallelism() {
    let mut disk = MemoryStorage::new();
    let job = Counting::new();
    let mut hand = Hand::begin(&job.env(1), &disk);
    let (_, base, _) = job.checkpoint(&mut hand, KEYS);
    let mut read = KEYS;
    for parallelism in [4, 3, 8, 2, 1, 8, 1] {
        drop(hand);
        disk = disk.kill_image();
        hand = Hand::begin(&job.env(parallelism), &disk);
        for _ in 0..3 {
            read += 10;
            let (id, written, full) = job.checkpoint(&mut hand, read);
            assert!(written < 2_000 && full < base * 2, "{written} of {full} bytes");
            assert_eq!(files(&metadata(&disk, id)), in_shared(&disk), "BE-05");
        }
        // Nothing is lost on the way there.
        let state = &metadata(&disk, hand.completed().unwrap()).operators;
        let count = state.iter().find(|operator| !operator.states.is_empty()).unwrap();
        let mut entries = BTreeMap::new();
        for part in count.subtasks.iter().flat_map(|subtask| &subtask.keyed) {
            entries.extend(part.groups.iter().map(|range| (range.group, range.entries)));
        }
        assert_eq!(entries.values().sum::<u64>(), KEYS);
    }
    job.check(hand, read);
}

/// CL-02: from a checkpoint of another line, which is not the job's own, the first one has everything, also when the first
/// attempt at it fails, and names nothing of the other line.
#[test]
fn cl_02_from_what_the_job_does_not_own_the_first_checkpoint_has_everything() {
    let disk = MemoryStorage::new();
    let job = Counting::new();
    let mut hand = Hand::begin(&job.env(1), &disk);
    let (first, ..) = job.checkpoint(&mut hand, KEYS);
    drop(hand);
    let disk = disk.kill_image();
    let env = job.env(1);
    env.configure(|settings| settings.recovery.path = Some(dir().checkpoint(first)));
    let mut hand = Hand::begin(&env, &disk);
    job.source.allow(KEYS + 10);
    hand.run_all();
    hand.fail("process");
    hand.finish_restart();
    let (id, written, full) = job.checkpoint(&mut hand, KEYS + 20);
    assert!(written > KEYS * 16 && full == written, "{written} of {full} bytes");
    let old = files(&metadata(&disk, first));
    assert!(old.is_disjoint(&files(&metadata(&disk, id))));
    assert!(old.is_subset(&in_shared(&disk)), "they are not the job's to delete");
    let (_, written, _) = job.checkpoint(&mut hand, KEYS + 30);
    assert!(written < 2_000, "{written} bytes");
    job.check(hand, KEYS + 30);
}
