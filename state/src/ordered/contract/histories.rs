//! Random histories: changes, looks, freezes, drains in portions, aborts, losses, and restarts at another parallelism in any order.

use super::*;
use crate::paged::PagedFault;
use proptest::prelude::*;

/// The groups that are used, and that few or many subtasks share.
const USED: [u16; 4] = [0, 1, 64, 127];

#[derive(Clone, Debug)]
enum Op {
    /// Gives a key a value.
    Put(usize, u64, u64),
    /// Puts in many keys that follow each other.
    Fill(usize, u64, u64),
    Remove(usize, u64),
    /// Removes many keys that follow each other.
    RemoveMany(usize, u64, u64),
    /// Removes the first key, so many times.
    PopFirst(usize, u64),
    /// Looks at a key, what is around it, and so many behind it.
    Look(usize, u64, usize),
    /// What is too large is refused.
    TooLarge(usize, u64),
    Freeze,
    Drain(usize),
    /// Drains what is left and compares the snapshot with the model as of the freeze.
    Finish,
    Abandon,
    /// Loses the snapshots that were taken last.
    Lose,
    /// Merges the snapshots that were taken last.
    Merge,
    /// Goes on with so many subtasks, restored from a snapshot of now, and perhaps with their chains.
    Restart(i64, bool),
}

fn ops(keys: u64) -> impl Strategy<Value = Vec<Op>> {
    let group = || 0..USED.len();
    let op = prop_oneof![
        30 => (group(), 0..keys, any::<u64>()).prop_map(|(g, k, v)| Op::Put(g, k, v)),
        8 => (group(), 0..keys, 1..keys / 2).prop_map(|(g, k, n)| Op::Fill(g, k, n)),
        15 => (group(), 0..keys).prop_map(|(g, k)| Op::Remove(g, k)),
        5 => (group(), 0..keys, 1..keys / 2).prop_map(|(g, k, n)| Op::RemoveMany(g, k, n)),
        5 => (group(), 1..keys / 2).prop_map(|(g, n)| Op::PopFirst(g, n)),
        20 => (group(), 0..keys, 0..50usize).prop_map(|(g, k, n)| Op::Look(g, k, n)),
        1 => (group(), 0..keys).prop_map(|(g, k)| Op::TooLarge(g, k)),
        12 => Just(Op::Freeze),
        25 => (1..2000usize).prop_map(Op::Drain),
        6 => Just(Op::Finish),
        2 => Just(Op::Abandon),
        2 => Just(Op::Lose),
        4 => Just(Op::Merge),
        3 => (prop::sample::select(vec![1, 7, 3, 128, 2]), any::<bool>()).prop_map(|(p, r)| Op::Restart(p, r)),
    ];
    prop::collection::vec(op, 1..100)
}

/// A key: numbers are in no order, and some keys begin with others.
fn key(n: u64) -> Vec<u8> {
    let text = format!("{:03}", n / 3 * 7 % 1000);
    let rest = [0, 1, 60][n as usize % 3];
    [text.as_bytes(), &b"x".repeat(rest)].concat()
}

/// A value: of a few bytes, or of many.
fn value(seed: u64) -> Vec<u8> {
    let len = match seed % 40 {
        0 => seed as usize / 40 % 8000,
        1..4 => seed as usize / 40 % 300,
        small => small as usize / 4,
    };
    vec![(seed >> 32) as u8; len]
}

struct Pair<B> {
    subtasks: Subtasks<B>,
    model: Model,
    /// The model as of a freeze that is under way.
    frozen: Option<Model>,
    /// Whether snapshots are taken in chunks.
    chunked: bool,
}

impl<B: Made> Pair<B> {
    fn put(&mut self, group: usize, n: u64, seed: u64) {
        let (group, key, value) = (KeyGroup(USED[group]), key(n), value(seed));
        self.subtasks.of_mut(group).put(group, &key, &value).unwrap();
        self.model.insert((group, key), value);
    }

    fn remove(&mut self, group: usize, n: u64) {
        let (group, key) = (KeyGroup(USED[group]), key(n));
        let removed = self.subtasks.of_mut(group).remove(group, &key);
        assert_eq!(removed, self.model.remove(&(group, key)).is_some());
    }

    fn pop_first(&mut self, group: usize) {
        let group = KeyGroup(USED[group]);
        let state = self.subtasks.of_mut(group);
        let first = state.first_from(group, b"").map(|(key, _)| key.to_vec());
        let expected = self.model.range((group, Vec::new())..).next().filter(|((of, _), _)| *of == group);
        assert_eq!(first.as_ref(), expected.map(|((_, key), _)| key));
        if let Some(key) = first {
            assert!(state.remove(group, &key));
            self.model.remove(&(group, key));
        }
    }

    fn look(&self, group: usize, n: u64, many: usize) {
        let (group, key) = (KeyGroup(USED[group]), key(n));
        let state = self.subtasks.of(group);
        let at = (group, key.clone());
        let entry = |((_, key), value): (&(KeyGroup, Vec<u8>), &Vec<u8>)| (key.clone(), value.clone());
        let seen = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        let from = self.model.range(at.clone()..).take_while(|((of, _), _)| *of == group).map(entry);
        let from: Vec<_> = from.take(many + 1).collect();
        assert_eq!(state.get(group, &key), self.model.get(&at).map(Vec::as_slice));
        assert_eq!(state.first_from(group, &key).map(seen).as_ref(), from.first());
        let before = self.model.range((group, Vec::new())..at).next_back().map(entry);
        assert_eq!(state.last_before(group, &key).map(seen), before);
        let mut scanned = Vec::new();
        state.scan(group, &key, &mut |key, value| {
            scanned.push(seen((key, value)));
            scanned.len() <= many
        });
        assert_eq!(scanned, from);
    }

    fn finish(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            self.subtasks.take(self.chunked);
            assert_eq!(self.subtasks.restored(2).content(), frozen);
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Put(group, key, seed) => self.put(group, key, seed),
            Op::Fill(group, first, n) => (first..first + n).for_each(|n| self.put(group, n, n << 32 | n)),
            Op::Remove(group, key) => self.remove(group, key),
            Op::RemoveMany(group, first, n) => (first..first + n).for_each(|n| self.remove(group, n)),
            Op::PopFirst(group, n) => (0..n).for_each(|_| self.pop_first(group)),
            Op::Look(group, key, many) => self.look(group, key, many),
            Op::TooLarge(group, n) => {
                let group = KeyGroup(USED[group]);
                let refused = self.subtasks.of_mut(group).put(group, &key(n), &vec![0; 1 << 30]);
                assert!(matches!(refused, Err(PagedFault::TooLarge { .. })));
            }
            Op::Freeze if self.frozen.is_none() => {
                self.subtasks.freeze();
                self.frozen = Some(self.model.clone());
            }
            Op::Freeze => {}
            Op::Drain(budget) => {
                let complete = self.subtasks.drain(budget, self.chunked);
                assert!(complete || self.frozen.is_some());
            }
            Op::Finish => self.finish(),
            Op::Abandon => {
                // What is a link of a chain is drained and taken as ever.
                let forgotten =
                    self.subtasks.states.iter_mut().filter_map(|state| state.abandon().then_some(()));
                if forgotten.count() < self.subtasks.states.len() {
                    self.subtasks.take(self.chunked);
                }
                self.frozen = None;
            }
            Op::Lose if self.frozen.is_none() => {
                self.subtasks.states.iter_mut().for_each(B::forget_base);
                self.subtasks.chains.iter_mut().for_each(Vec::clear);
            }
            Op::Lose => {}
            Op::Merge => self.subtasks.merge(),
            Op::Restart(parallelism, resume) => {
                self.finish();
                self.apply(Op::Freeze);
                self.finish();
                let restored = self.subtasks.restored(parallelism);
                let before = std::mem::replace(&mut self.subtasks, restored);
                if resume {
                    self.subtasks.resume(&before.chains);
                }
            }
        }
        assert_eq!(self.subtasks.len(), self.model.len());
    }
}

fn run<B: Made>(ops: &[Op], chunked: bool) {
    let mut pair = Pair::<B> { subtasks: Subtasks::new(2), model: Model::new(), frozen: None, chunked };
    for op in ops {
        pair.apply(op.clone());
    }
    for parallelism in [1, 7, 3, 128, 2] {
        pair.apply(Op::Restart(parallelism, parallelism % 2 == 1));
        assert_eq!(pair.subtasks.content(), pair.model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cp_24_ordered_state_on_the_heap(ops in ops(400)) {
        run::<HeapOrdered>(&ops, false);
    }

    #[test]
    fn cp_24_ordered_state_in_pages(ops in ops(400), chunked: bool) {
        run::<PagedOrdered>(&ops, chunked);
    }

    #[test]
    fn cp_24_little_ordered_state(ops in ops(30), chunked: bool) {
        run::<HeapOrdered>(&ops, chunked);
        run::<PagedOrdered>(&ops, chunked);
    }
}
