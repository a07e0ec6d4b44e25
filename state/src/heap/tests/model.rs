//! Random histories: lookups, removals, freezes, drains in portions, aborts and restarts in any order, with growth,
//! spreading and tidying in the middle of them.

use super::*;

#[derive(Clone, Debug)]
enum Op {
    /// Sets a key's value.
    Put(u64, u64),
    /// Puts many keys that follow each other: growth.
    Fill(u64, u64),
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
    /// Goes on with a state restored from a snapshot of now.
    Restart,
}

fn ops(keys: u64) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        30 => (0..keys, any::<u64>()).prop_map(|(k, v)| Op::Put(k, v)),
        6 => (0..keys, 1..keys / 2).prop_map(|(k, n)| Op::Fill(k, n)),
        20 => (0..keys).prop_map(Op::Clear),
        4 => (0..keys, 1..keys / 2).prop_map(|(k, n)| Op::ClearMany(k, n)),
        2 => any::<u64>().prop_map(Op::ForEach),
        12 => Just(Op::Freeze),
        25 => (1..200usize).prop_map(Op::Drain),
        6 => Just(Op::Finish),
        2 => Just(Op::Abandon),
        1 => Just(Op::Restart),
    ];
    prop::collection::vec(op, 1..120)
}

struct Pair<K: Key, V: Record + Default> {
    state: HeapState<K, V>,
    model: Model,
    /// The model as of a freeze that is under way.
    frozen: Option<Model>,
}

impl<K: Sample + Key, V: Sample + Default> Pair<K, V> {
    fn new() -> Self {
        Self { state: whole(), model: Model::new(), frozen: None }
    }

    fn put(&mut self, key: u64, value: u64) {
        let (key, value) = (K::sample(key), V::sample(value % 1000));
        let old = self.model.insert(K::encode(key.view()), V::encode(value.view()));
        self.state.with(K::hash(key.view()), key.view(), |mut entry| {
            let expected = old.clone().unwrap_or_else(|| V::encode(V::default().view()));
            assert_eq!(V::encode(entry.view()), expected);
            assert_eq!(entry.is_new(), old.is_none());
            *entry = value;
        });
    }

    fn clear(&mut self, key: u64) {
        let key = K::sample(key);
        self.model.remove(&K::encode(key.view()));
        self.state.with(K::hash(key.view()), key.view(), |mut entry| {
            // What is written to an entry that goes away must not come back with the next key.
            *entry = V::sample(77);
            entry.clear();
        });
    }

    fn finish(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            while !self.state.drain(1000) {}
            assert_eq!(entries::<K, V>(&self.state.take_snapshot()), frozen);
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Put(key, value) => self.put(key, value),
            Op::Fill(first, count) => (first..first + count).for_each(|key| self.put(key, key)),
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
                let complete = self.state.drain(budget);
                assert!(complete || self.frozen.is_some());
            }
            Op::Finish => self.finish(),
            Op::Abandon => {
                self.state.abandon();
                self.frozen = None;
            }
            Op::Restart => {
                self.finish();
                self.state = restored(&snapshot(&mut self.state));
            }
        }
        assert_eq!(self.state.len(), self.model.len());
    }
}

fn run<K: Sample + Key, V: Sample + Default>(ops: Vec<Op>) {
    let mut pair = Pair::<K, V>::new();
    for op in ops {
        pair.apply(op);
    }
    pair.finish();
    let now = snapshot(&mut pair.state);
    assert_eq!(entries::<K, V>(&now), pair.model);
    assert_eq!(entries::<K, V>(&snapshot(&mut restored::<K, V>(&now))), pair.model);
}

macro_rules! histories {
    ($($name:ident: $key:ty => $value:ty, $keys:literal;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(64))]
            $(
                #[test]
                fn $name(ops in ops($keys)) {
                    run::<$key, $value>(ops);
                }
            )*
        }
    };
}

histories! {
    cp_24_words_to_i64: u64 => i64, 40;
    cp_24_words_to_texts: u64 => String, 900;
    cp_24_short_words_to_pairs: i32 => (u64, u64), 900;
    cp_24_pairs_of_words_to_options: (u32, u32) => Option<String>, 300;
    cp_24_texts_to_i64: String => i64, 40;
    cp_24_texts_to_pairs: String => (u64, u64), 900;
    cp_24_words_with_texts_to_texts: (u64, String) => String, 300;
    cp_24_the_only_key_of_unit: () => i64, 4;
    cp_24_keys_without_values: u64 => (), 100;
}

#[test]
fn cp_24_changes_after_the_freeze_are_not_in_the_snapshot() {
    let mut state = whole::<u64, String>();
    for key in 0..1000 {
        put(&mut state, &key, format!("before {key}"));
    }
    state.freeze();
    for key in 0..1000 {
        put(&mut state, &key, "after".to_owned());
        put(&mut state, &(key + 1000), "new".to_owned());
        state.with(<u64 as Key>::hash(key), key, |entry| entry.clear());
        state.drain(1);
    }
    while !state.drain(64) {}
    let expected = (0..1000u64).map(|key| (u64::encode(key), String::encode(&format!("before {key}"))));
    assert_eq!(entries::<u64, String>(&state.take_snapshot()), expected.collect());
    assert_eq!(state.len(), 1000);
}

#[test]
fn an_aborted_snapshot_leaves_nothing_in_the_next() {
    let mut state = whole::<u64, u64>();
    for key in 0..500 {
        put(&mut state, &key, 1);
    }
    for _ in 0..3 {
        state.freeze();
        state.drain(100);
        put(&mut state, &7, 2);
        state.abandon();
    }
    let all = entries::<u64, u64>(&snapshot(&mut state));
    assert_eq!(all.len(), 500);
    assert_eq!(all[&u64::encode(7)], u64::encode(2));
}

#[test]
fn a_drain_takes_no_more_than_its_budget() {
    let mut state = whole::<u64, u64>();
    for key in 0..10_000 {
        put(&mut state, &key, 1);
    }
    state.freeze();
    let steps = (1..).find(|_| state.drain(4096)).unwrap();
    let bytes = state.take_snapshot().bytes();
    assert_eq!(bytes, 160_000);
    // A step goes beyond its budget by 64 slots at most, and looks at an empty slot as if it had a byte.
    assert!((bytes / (4096 + 1088)..=(bytes + 4 * 10_000) / 4096 + 1).contains(&steps), "{steps}");
}

#[test]
fn the_arena_is_tidied_up_when_half_of_it_is_unused() {
    let mut state = whole::<String, u64>();
    let key = |n: u64| format!("a key that is too long for a slot, number {n:08}");
    for n in 0..200_000u64 {
        put(&mut state, &key(n), n);
        if n >= 100 {
            let old = key(n - 100);
            state.with(String::hash(&old), &old, |entry| entry.clear());
        }
    }
    assert_eq!(state.len(), 100);
    let arenas: usize = state.bytes.rest.iter().map(|rest| rest.arena.capacity()).sum();
    assert!(arenas < 64 << 10, "{arenas} bytes for 100 keys of 49");
    for n in 199_900..200_000 {
        assert_eq!(state.with(String::hash(&key(n)), &key(n), |value| *value), n);
    }
}

#[test]
#[should_panic(expected = "taken or abandoned")]
fn a_second_freeze_waits_for_the_first() {
    let mut state = whole::<u64, u64>();
    state.freeze();
    state.freeze();
}

#[test]
#[should_panic(expected = "once its drain is complete")]
fn a_snapshot_is_not_taken_before_it_is_complete() {
    let mut state = whole::<u64, u64>();
    put(&mut state, &1, 1);
    state.freeze();
    state.take_snapshot();
}

#[test]
fn keys_whose_hashes_are_equal_are_told_apart() {
    const HASH: u64 = 0x1234_5678_9abc_0000;
    // Three lengths, of which many keys have each: in the slot, of just sixteen bytes, in the arena.
    let keys: Vec<String> =
        (10..60).flat_map(|n| [format!("{n}"), format!("{n:016}"), format!("{n:040}")]).collect();
    let mut state = whole::<String, u64>();
    for round in 0..2 {
        for (n, key) in keys.iter().enumerate() {
            state.with(HASH, key, |mut value| {
                assert_eq!((value.is_new(), *value), (round == 0, n as u64 * round));
                *value = n as u64;
            });
        }
    }
    for key in keys.iter().step_by(2) {
        state.with(HASH, key, |entry| entry.clear());
    }
    for (n, key) in keys.iter().enumerate() {
        state.with(HASH, key, |value| assert_eq!(value.is_new(), n % 2 == 0));
    }
}
