//! Random histories: lookups, removals, freezes, drains in portions, aborts, losses and restarts in any order, with growth,
//! spreading and tidying in the middle of them.

use super::*;
use crate::keyed::batch::{Rows, for_batch};
use crate::keyed::{Chunk, Entry, Extent, Visit};
use crate::paged::PagedFault;
use crate::testing::joined;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    /// Sets a key's value.
    Put(u64, u64),
    /// Puts many keys that follow each other: growth.
    Fill(u64, u64),
    /// The same as a batch, twice: what the first puts in is asked for before it is there, the second finds it.
    Batch(u64, u64),
    Clear(u64),
    /// Clears many keys that follow each other.
    ClearMany(u64, u64),
    /// Looks at every key and changes every third.
    ForEach(u64),
    Freeze,
    Drain(usize),
    /// Drains what is left and compares the snapshot with the model as of the freeze.
    Finish,
    Abandon,
    /// Loses the snapshot that was taken last.
    Lose,
    /// Goes on with a state restored from a snapshot of now.
    Restart,
    /// The same, and later snapshots build on those that it was restored from, where the state can.
    Resume,
}

fn ops(keys: u64) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        30 => (0..keys, any::<u64>()).prop_map(|(k, v)| Op::Put(k, v)),
        6 => (0..keys, 1..keys / 2).prop_map(|(k, n)| Op::Fill(k, n)),
        4 => (0..keys, 1..keys / 2).prop_map(|(k, n)| Op::Batch(k, n)),
        20 => (0..keys).prop_map(Op::Clear),
        4 => (0..keys, 1..keys / 2).prop_map(|(k, n)| Op::ClearMany(k, n)),
        2 => any::<u64>().prop_map(Op::ForEach),
        12 => Just(Op::Freeze),
        25 => (1..200usize).prop_map(Op::Drain),
        6 => Just(Op::Finish),
        2 => Just(Op::Abandon),
        2 => Just(Op::Lose),
        1 => Just(Op::Restart),
        2 => Just(Op::Resume),
    ];
    prop::collection::vec(op, 1..120)
}

struct Pair<K, V, B> {
    state: B,
    model: Model,
    /// The snapshots from the last base on.
    chain: Vec<KeyedSnapshot>,
    /// The model as of a freeze that is under way.
    frozen: Option<Model>,
    /// Its snapshot is a link of the chain, and has not everything.
    abandoned: bool,
    /// What was taken of it, if it is taken in chunks.
    chunks: Option<Vec<Chunk>>,
    of: PhantomData<(K, V)>,
}

impl<K: Sample + Key, V: Sample + Default, B: Made<K, V>> Pair<K, V, B> {
    fn new(chunked: bool) -> Self {
        let (state, model, chunks) = (B::whole(), Model::new(), chunked.then(Vec::new));
        Self { state, model, chain: Vec::new(), frozen: None, abandoned: false, chunks, of: PhantomData }
    }

    fn drain(&mut self, budget: usize) -> bool {
        let complete = self.state.drain(budget);
        if let Some(chunks) = &mut self.chunks {
            while let Some(chunk) = self.state.take_chunk() {
                self.state.recycle(chunk.bytes.clone());
                chunks.push(chunk);
            }
        }
        complete
    }

    fn put(&mut self, key: u64, value: u64) {
        let (key, value) = (K::sample(key), V::sample(value % 1000));
        let old = self.model.insert(K::encode(key.view()), V::encode(value.view()));
        self.state.with(K::hash(key.view()), key.view(), |mut entry: Entry<'_, V>| {
            let expected = old.clone().unwrap_or_else(|| V::encode(V::default().view()));
            assert_eq!(V::encode(entry.view()), expected);
            assert_eq!(entry.is_new(), old.is_none());
            *entry = value;
        });
    }

    fn batch(&mut self, first: u64, count: u64, round: u64) {
        let keys: Vec<K> = (first..first + count).map(K::sample).collect();
        let rows = keys.len();
        let mut sets =
            Sets { keys: &keys, value: |row| V::sample(row as u64 * round % 1000), of: PhantomData };
        assert_eq!(for_batch(&mut self.state, 0..rows, &mut sets), rows);
        for (row, key) in keys.iter().enumerate() {
            let value = V::encode(V::sample(row as u64 * round % 1000).view());
            self.model.insert(K::encode(key.view()), value);
        }
    }

    fn clear(&mut self, key: u64) {
        let key = K::sample(key);
        self.model.remove(&K::encode(key.view()));
        self.state.with(K::hash(key.view()), key.view(), |mut entry: Entry<'_, V>| {
            // What is written to an entry that goes away must not come back with the next key.
            *entry = V::sample(77);
            entry.clear();
        });
    }

    fn finish(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            while !self.drain(1000) {}
            let chunks = self.chunks.as_mut().map(std::mem::take).unwrap_or_default();
            let snapshot = joined(&chunks, self.state.take_snapshot());
            if snapshot.extent != Extent::Changes {
                self.chain.clear();
            }
            self.chain.push(snapshot);
            if !std::mem::take(&mut self.abandoned) {
                assert_eq!(content(&mut restored::<K, V, B>(&self.chain)), frozen);
            }
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Put(key, value) => self.put(key, value),
            Op::Fill(first, count) => (first..first + count).for_each(|key| self.put(key, key)),
            Op::Batch(first, count) => (1..3).for_each(|round| self.batch(first, count, round)),
            Op::Clear(key) => self.clear(key),
            Op::ClearMany(first, count) => (first..first + count).for_each(|key| self.clear(key)),
            Op::ForEach(seed) => {
                let (mut seen, mut at, places) = (Model::new(), Visit::default(), seed as usize % 50 + 1);
                // In steps, some of which the function ends early.
                let step = |seen: &mut Model, key: K::Ref<'_>, value: &mut V| {
                    let bytes = K::encode(key);
                    assert_eq!(seen.insert(bytes.clone(), V::encode(value.view())), None, "each key once");
                    if K::hash(key) % 3 == 0 {
                        *value = V::sample(seed % 1000);
                    }
                    K::hash(key) % 5 != 0
                };
                loop {
                    let before = seen.len();
                    let done = self.state.visit(&mut at, places, |key, value| step(&mut seen, key, value));
                    assert!(seen.len() - before <= places + 1, "no more than was asked for");
                    if done {
                        break;
                    }
                }
                assert_eq!(seen, self.model);
                if let Some(fault) = self.state.take_fault() {
                    // A value longer than pages take, which a visit may not make: whoever is told gives the state up.
                    assert!(matches!(fault, PagedFault::TooLarge { .. }), "{fault}");
                    *self = Self::new(self.chunks.is_some());
                    return;
                }
                for (key, value) in &mut self.model {
                    if K::hash(K::parse(key).unwrap().0) % 3 == 0 {
                        *value = V::encode(V::sample(seed % 1000).view());
                    }
                }
            }
            Op::Freeze if self.frozen.is_none() => {
                self.state.freeze();
                self.frozen = Some(self.model.clone());
            }
            Op::Freeze => {}
            Op::Drain(budget) => {
                let complete = self.drain(budget);
                assert!(complete || self.frozen.is_some());
            }
            Op::Finish => self.finish(),
            Op::Abandon => {
                // What those that follow build on goes on, as far as it has come.
                if self.state.abandon() {
                    self.frozen = None;
                }
                self.abandoned = self.frozen.is_some();
            }
            Op::Lose => {
                if self.frozen.is_none() && self.chain.pop().is_some() {
                    self.state.forget_base();
                    self.chain.clear();
                }
            }
            Op::Restart => {
                self.finish();
                self.apply(Op::Freeze);
                self.finish();
                self.state = restored(&self.chain);
                self.chain.clear();
            }
            Op::Resume => {
                self.finish();
                self.apply(Op::Freeze);
                self.finish();
                self.state = restored(&self.chain);
                if !self.state.build_on_restored() {
                    self.chain.clear();
                }
            }
        }
        assert_eq!(self.state.len(), self.model.len());
    }
}

/// Sets each key's value.
struct Sets<'a, K, V, F> {
    keys: &'a [K],
    value: F,
    of: PhantomData<V>,
}

impl<'a, K: Key, V: Record, F: Fn(usize) -> V> Rows<'a, K, V> for Sets<'a, K, V, F> {
    fn known(&self) -> usize {
        self.keys.len()
    }

    fn hash(&mut self, row: usize) -> u64 {
        K::hash(self.keys[row].view())
    }

    fn key(&mut self, row: usize) -> K::Ref<'a> {
        self.keys[row].view()
    }

    fn apply(&mut self, row: usize, _: K::Ref<'a>, mut entry: Entry<'_, V>) {
        *entry = (self.value)(row);
    }
}

fn run<K: Sample + Key, V: Sample + Default, B: Made<K, V>>(ops: &[Op], chunked: bool) {
    let mut pair = Pair::<K, V, B>::new(chunked);
    for op in ops {
        pair.apply(op.clone());
    }
    pair.finish();
    pair.apply(Op::Restart);
    assert_eq!(content(&mut pair.state), pair.model);
}

macro_rules! histories {
    ($($name:ident: $key:ty => $value:ty, $keys:literal;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(64))]
            $(
                #[test]
                fn $name(ops in ops($keys)) {
                    run::<$key, $value, HeapState<$key, $value>>(&ops, false);
                    run::<$key, $value, PagedState<$key, $value>>(&ops, false);
                    run::<$key, $value, PagedState<$key, $value>>(&ops, true);
                }
            )*
        }
    };
}

/// 48 bytes: more than a word's slot has room for.
type Six = ((u64, u64), (u64, u64), (u64, u64));

histories! {
    cp_24_words_to_i64: u64 => i64, 40;
    cp_24_many_words_to_u64: u64 => u64, 3000;
    cp_24_words_to_texts: u64 => String, 900;
    cp_24_short_words_to_pairs: i32 => (u64, u64), 900;
    cp_24_pairs_of_words_to_options: (u32, u32) => Option<String>, 300;
    cp_24_words_to_wide_values: u64 => Six, 900;
    cp_24_pairs_of_words_to_wide_values: (u32, u32) => Six, 300;
    cp_24_texts_to_i64: String => i64, 40;
    cp_24_texts_to_pairs: String => (u64, u64), 900;
    cp_24_words_with_texts_to_texts: (u64, String) => String, 300;
    cp_24_the_only_key_of_unit: () => i64, 4;
    cp_24_keys_without_values: u64 => (), 100;
    cp_24_words_to_bytes_some_of_them_long: u64 => Vec<u8>, 300;
    cp_24_long_keys: Vec<u8> => u64, 300;
    cp_24_the_only_key_without_a_value: () => (), 4;
}
