//! Ordered state in pages at its real sizes: trees of several levels, runs of up to a segment, and restarts at other parallelisms.

use millstream_state::keyed::Extent;
use millstream_state::{KeyGroup, KeyedSnapshot, OrderedBackend, PagedOrdered, Parallelism, Snapshots};
use std::collections::BTreeMap;

type Model = BTreeMap<(KeyGroup, Vec<u8>), Vec<u8>>;

/// The groups that are used, of 128.
const GROUPS: [u16; 3] = [0, 70, 127];

/// The subtasks, and the snapshots of each from the last base on.
struct Subtasks {
    parallelism: Parallelism,
    states: Vec<PagedOrdered>,
    chains: Vec<Vec<KeyedSnapshot>>,
}

impl Subtasks {
    fn new(parallelism: i64) -> Self {
        let parallelism = Parallelism::new(parallelism, Some(128)).unwrap();
        let subtasks = 0..parallelism.subtasks();
        let states: Vec<_> =
            subtasks.map(|subtask| PagedOrdered::new(parallelism.range_of(subtask))).collect();
        Self { parallelism, chains: vec![Vec::new(); states.len()], states }
    }

    fn of(&mut self, group: KeyGroup) -> &mut PagedOrdered {
        &mut self.states[self.parallelism.subtask_of(group)]
    }

    fn restored(&self, parallelism: i64) -> Self {
        let mut new = Self::new(parallelism);
        for state in &mut new.states {
            for chunk in self.chains.iter().flatten().flat_map(|snapshot| &snapshot.groups) {
                state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
            }
            state.restored().unwrap();
        }
        new
    }

    fn assert_is(&mut self, model: &Model) {
        assert_eq!(self.states.iter().map(OrderedBackend::len).sum::<usize>(), model.len());
        for group in GROUPS.map(KeyGroup) {
            let mut expected = model.range((group, Vec::new())..(KeyGroup(group.0 + 1), Vec::new()));
            self.of(group).scan(group, b"", &mut |key, value| {
                let ((_, k), v) = expected.next().unwrap();
                assert!((key, value) == (k, v), "{key:?}, and not {k:?}");
                true
            });
            assert_eq!(expected.next(), None);
        }
    }

    /// Drains a little. Once all of it is, keeps the snapshots, and says so.
    fn drain(&mut self, budget: usize) -> bool {
        let done = self.states.iter_mut().map(|state| state.drain(budget));
        if !done.fold(true, |all, done| all & done) {
            return false;
        }
        for (state, chain) in self.states.iter_mut().zip(&mut self.chains) {
            let snapshot = state.take_snapshot();
            if snapshot.extent != Extent::Changes {
                chain.clear();
            }
            chain.push(snapshot);
        }
        true
    }

    fn freeze(&mut self) {
        self.states.iter_mut().for_each(Snapshots::freeze);
    }
}

fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 20
}

/// Keys of many lengths, some of which begin with others.
fn key(n: u64) -> Vec<u8> {
    let long = if n.is_multiple_of(100) { 900 } else { n as usize % 30 };
    [&n.wrapping_mul(0x9e37_79b9).to_be_bytes()[5..], &b"k".repeat(long)].concat()
}

fn value(n: u64) -> Vec<u8> {
    let len = if n.is_multiple_of(500) { n % 65_000 } else { n % 120 };
    vec![n as u8; len as usize]
}

/// Changes in an order without a pattern; freezes now and then, and goes on while the snapshot is drained; goes on from what was
/// restored at another parallelism, or with a new base.
#[test]
fn cp_24_ordered_state_lives_on_pages() {
    const STEPS: u64 = 160_000;
    let mut subtasks = Subtasks::new(1);
    let (mut model, mut frozen) = (Model::new(), None);
    let mut parallelisms = [7, 3, 128, 2].into_iter();
    let (mut seed, mut changes) = (1, 0);
    for step in 0..STEPS {
        let (n, what) = (next(&mut seed) % (5000 + step / 4), next(&mut seed) % 8);
        let (group, key) = (KeyGroup(GROUPS[n as usize % 3]), key(n));
        if what < 3 {
            let removed = subtasks.of(group).remove(group, &key);
            assert_eq!(removed, model.remove(&(group, key)).is_some());
        } else {
            let value = value(next(&mut seed));
            subtasks.of(group).put(group, &key, &value).unwrap();
            model.insert((group, key), value);
        }
        if step % 20_000 == 15_000 {
            subtasks.freeze();
            frozen = Some(model.clone());
        }
        if frozen.is_some() && step % 20 == 0 && subtasks.drain(50_000) {
            changes += subtasks.chains.iter().filter(|chain| chain.len() > 1).count();
            let now = frozen.take().unwrap();
            subtasks.restored(2).assert_is(&now);
            if step / 20_000 % 2 == 1 {
                let parallelism = parallelisms.next().unwrap();
                subtasks = subtasks.restored(parallelism);
                model = now;
            } else if step / 20_000 == 4 {
                subtasks.states.iter_mut().for_each(Snapshots::forget_base);
            }
        }
    }
    subtasks.assert_is(&model);
    assert!(changes >= 2, "{changes} chains of several snapshots");
    assert_eq!(parallelisms.next(), None);
}

/// Timers: put in with rising times and taken out from the front. What that takes stays what the timers take, and what a
/// checkpoint has is what changed.
#[test]
fn timers_that_come_and_go_use_the_same_pages_again() {
    let group = KeyGroup(0);
    let mut subtasks = Subtasks::new(1);
    let timer = |n: u64| [n.to_be_bytes(), n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()].concat();
    let state = &mut subtasks.states[0];
    let full = |state: &mut PagedOrdered| {
        state.forget_base();
        state.freeze();
        while !state.drain(usize::MAX) {}
        state.take_snapshot().bytes()
    };
    (0..20_000).for_each(|n| state.put(group, &timer(n), b"").unwrap());
    let before = full(state);
    // A timer is 16 bytes, and takes 6 more.
    assert!((20_000 * 22..20_000 * 22 * 11 / 10).contains(&before), "{before} bytes");
    for n in 20_000..120_000 {
        state.put(group, &timer(n), b"").unwrap();
        let first = state.first_from(group, b"").unwrap().0.to_vec();
        assert_eq!(first, timer(n - 20_000));
        assert!(state.remove(group, &first));
    }
    let after = full(state);
    assert!(after < before * 11 / 10, "{after} bytes, and {before} before");
    for n in 120_000..120_100 {
        state.put(group, &timer(n), b"").unwrap();
        state.remove(group, &timer(n - 20_000));
    }
    state.freeze();
    while !state.drain(usize::MAX) {}
    let changes = state.take_snapshot();
    assert_eq!(changes.extent, Extent::Changes);
    // A hundred new ones of 22 bytes; those that are gone cost the header of a leaf.
    assert!(changes.bytes() < 4 * 2200, "{} bytes", changes.bytes());
}

#[test]
fn values_up_to_the_limit_are_kept_and_no_more() {
    let group = KeyGroup(0);
    let mut subtasks = Subtasks::new(1);
    let state = &mut subtasks.states[0];
    (0..10u8).for_each(|n| state.put(group, &[n], &[n; 65_519]).unwrap());
    assert!(state.put(group, &[0], &[0; 65_520]).unwrap_err().to_string().contains("65520"));
    assert!(state.put(group, &[0; 1001], b"").unwrap_err().to_string().contains("1000"));
    state.put(group, &[0; 1000], &[1; 64_520]).unwrap();
    assert_eq!((state.len(), state.get(group, &[9])), (11, Some(&[9; 65_519][..])));
    subtasks.freeze();
    while !subtasks.drain(10_000) {}
    assert_eq!(subtasks.restored(2).of(group).get(group, &[5]), Some(&[5; 65_519][..]));
}
