//! Snapshots of changes over restarts: what a checkpoint names, and what it writes itself (BE-04, CL-02).

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::{CollectSink, Collected};
use millstream::{CheckpointId, Env, JobId, RestoreProgress};
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::{JobDir, Metadata};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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

/// BE-05: behind completed checkpoints, and behind starts at whatever parallelism, the shared files are those that a retained
/// checkpoint names; behind aborted ones these are among them.
#[test]
fn be_05_shared_files_are_those_that_are_named_whatever_happens() {
    let mut memory = MemoryStorage::new();
    let mut disk = FaultStorage::new(Arc::new(memory.clone()));
    let job = Counting::new();
    let begin = |disk: &FaultStorage, parallelism| {
        let env = job.env(parallelism);
        env.configure(|settings| settings.checkpointing.num_retained = 2);
        Hand::begin(&env, disk)
    };
    let mut hand = begin(&disk, 2);
    let mut retained = Vec::new();
    let mut random = 7u64;
    let (mut read, mut aborted, mut rescaled) = (0, 0, 0);
    for step in 0..50 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        read += (random >> 40) % 200;
        job.source.allow(read);
        hand.run_all();
        let complete = match random >> 60 {
            0..9 => {
                retained.push(hand.checkpoint());
                true
            }
            9..12 => {
                disk.fail_every(Op::Publish, Some(Fault::Before(5)));
                hand.trigger();
                hand.settle();
                disk.fail_every(Op::Publish, None);
                aborted += 1;
                false
            }
            other => {
                drop(hand);
                memory = memory.kill_image();
                disk = FaultStorage::new(Arc::new(memory.clone()));
                hand = begin(&disk, (other - 11) as i64);
                rescaled += 1;
                true
            }
        };
        // What the background is still merging has a name that says so.
        hand.settle();
        retained.drain(..retained.len().saturating_sub(2));
        let named: BTreeSet<_> = retained.iter().flat_map(|id| files(&metadata(&memory, *id))).collect();
        // What was merged since the newest one is named from the next one on.
        let newest = retained.last().map_or(0, |id: &CheckpointId| id.0);
        let later = |name: &str| {
            let mut parts = name.splitn(3, '-').skip(1);
            let first: u64 = parts.next().unwrap().parse().unwrap();
            first > newest && parts.next().unwrap().contains('m')
        };
        let found: BTreeSet<_> = in_shared(&memory).into_iter().filter(|name| !later(name)).collect();
        assert!(named.is_subset(&found), "step {step}: {named:?} of {found:?}");
        assert!(!complete || named == found, "step {step}: {found:?}, named are {named:?}");
    }
    assert!(aborted > 5 && rescaled > 5 && retained.len() == 2, "{aborted} aborted, {rescaled} rescaled");
    job.check(hand, read);
}

/// BE-05, MS-069: while every checkpoint fails, and that is tolerated, what merges replace does not pile up; the next that is
/// complete, and a start from it, have everything.
#[test]
fn be_05_what_merges_replace_goes_though_no_checkpoint_is_complete() {
    let disk = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let job = Counting::new();
    let env = || {
        let env = job.env(2);
        env.configure(|settings| {
            settings.checkpointing.tolerable_failed = u32::MAX;
            settings.checkpointing.data_inline_threshold = ByteSize(0);
        });
        env
    };
    let mut hand = Hand::begin(&env(), &disk);
    let sizes = |disk: &FaultStorage| -> Vec<u64> {
        let names = disk.list(&dir().shared()).unwrap().into_iter().map(|entry| entry.name);
        names.map(|name| disk.stat(&dir().shared().join(name)).unwrap().len).collect()
    };
    let (_, image, _) = job.checkpoint(&mut hand, KEYS);
    let (mut files, mut bytes) = (0, 0);
    for n in 1..=200 {
        disk.fail_every(Op::Publish, Some(Fault::Before(28)));
        job.source.allow(KEYS + n * 50);
        hand.run_all();
        hand.trigger();
        hand.settle();
        assert_eq!(hand.failed(), n);
        let sizes = sizes(&disk);
        (files, bytes) = (files.max(sizes.len()), bytes.max(sizes.iter().sum()));
    }
    // Two subtasks: what is named, a chain as long as the logarithm of its size, and a merge.
    assert!(files <= 2 * 16 && bytes < 4 * image, "{files} files, {bytes} bytes where an image has {image}");
    disk.fail_every(Op::Publish, None);
    job.checkpoint(&mut hand, KEYS + 200 * 50);
    drop(hand);
    let mut hand = Hand::begin(&env(), &disk);
    job.checkpoint(&mut hand, KEYS + 200 * 50 + 7);
    job.check(hand, KEYS + 200 * 50 + 7);
}

/// MS-050: ten thousand checkpoints, twenty milliseconds apart, of a hundred hot keys leave few files, and the last one is
/// restored with no more reads than the tenth.
#[test]
fn ms_050_ten_thousand_checkpoints_leave_few_files() {
    const APART: Duration = Duration::from_millis(20);
    let memory = MemoryStorage::new();
    let job = Counting::new();
    let env = || {
        let env = job.env(1);
        env.configure(|settings| {
            settings.checkpointing.interval = Some(APART);
            settings.checkpointing.data_inline_threshold = ByteSize(0);
        });
        env
    };
    let mut hand = Hand::begin(&env(), &memory);
    let (mut most, mut reads) = (0, Vec::new());
    for n in 1..=10_000 {
        job.source.allow(n * 100 % (KEYS * 10));
        hand.run_all();
        hand.pass(APART);
        hand.settle();
        assert_eq!(hand.completed(), Some(CheckpointId(n)));
        if n % 100 == 10 {
            most = most.max(
                in_shared(&memory).len() + memory.list(&dir().checkpoint(CheckpointId(n))).unwrap().len(),
            );
        }
        if n == 10 || n == 10_000 {
            let disk = FaultStorage::new(Arc::new(memory.kill_image()));
            disk.record();
            drop(Hand::begin(&env(), &disk));
            let read = |(_, op, path): &(u64, Op, PathBuf)| *op == Op::Read && path.starts_with("/ck");
            reads.push(disk.log().into_iter().filter(read).count());
        }
    }
    assert!(most <= 10, "{most} files");
    assert!(reads[1] <= reads[0] * 2, "{reads:?}");
}

/// MS-083: what is to be restored is known before the first subtask begins, and all of it is done, to the last key and byte,
/// once all run: of a state of several parts, too, and at another parallelism.
#[test]
fn ms_083_restoring_ends_at_exactly_all_of_it() {
    let disk = MemoryStorage::new();
    let job = Counting::new();
    let mut hand = Hand::begin(&job.env(2), &disk);
    let mut last = hand.completed();
    for n in 0..3 {
        last = Some(job.checkpoint(&mut hand, KEYS + n).0);
    }
    drop(hand);
    let disk = disk.kill_image();
    let of = metadata(&disk, last.unwrap()).operators;
    let handles = of.iter().flat_map(|operator| &operator.subtasks).flat_map(|subtask| &subtask.keyed);
    let bytes: u64 = handles.map(|handle| handle.data.len()).sum();
    let sum =
        |hand: &Hand| hand.control.metrics().restoring.into_iter().reduce(RestoreProgress::and).unwrap();
    for parallelism in [2, 3] {
        let hand = Hand::launch(&job.env(parallelism), &disk.kill_image());
        let before = RestoreProgress { records: KEYS, bytes, ..RestoreProgress::default() };
        assert_eq!((sum(&hand), sum(&hand).percent()), (before, 0));
        drop(hand);
        let hand = Hand::begin(&job.env(parallelism), &disk.kill_image());
        let after = RestoreProgress { records_done: KEYS, bytes_done: bytes, ..before };
        assert_eq!((sum(&hand), sum(&hand).percent()), (after, 100));
    }
}
