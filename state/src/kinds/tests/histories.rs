//! Random histories of all kinds in turn, with snapshots, restores and changes of the parallelism in the middle (ST-02).

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Keys, some of which begin with others.
const KEYS: [&str; 8] = ["", "a", "ab", "a\0", "aa", "b", "ä", "a long key, so that it has room for others"];
const WIDTHS: [i64; 5] = [7, 3, 128, 2, 1];

#[derive(Clone, Debug)]
enum Change {
    Set(String),
    Update(u8),
    Take,
    ClearValue,
    Add(String),
    AddAll(Vec<String>),
    Replace(Vec<String>),
    ClearList,
    Put(String, u64),
    PutAll(Vec<(String, u64)>),
    Remove(String),
    RetainOdd,
    ClearMap,
    Reduce(u64),
    ClearReduced,
    Aggregate(String),
    ClearAggregate,
}

#[derive(Clone, Debug)]
enum Op {
    Change(usize, Option<u32>, Change),
    Freeze,
    Drain(usize),
    Abandon,
    /// Takes the snapshot of a freeze that is under way and forgets all that came behind.
    Restore,
    VisitKeys,
}

fn text() -> impl Strategy<Value = String> {
    // Short enough for a key of the small pages of unit tests.
    prop_oneof!["[a-c]{0,3}", "\\PC{0,15}"]
}

fn change() -> impl Strategy<Value = Change> {
    let texts = || prop::collection::vec(text(), 0..5);
    prop_oneof![
        4 => text().prop_map(Change::Set),
        2 => any::<u8>().prop_map(Change::Update),
        1 => Just(Change::Take),
        1 => Just(Change::ClearValue),
        4 => text().prop_map(Change::Add),
        2 => texts().prop_map(Change::AddAll),
        1 => texts().prop_map(Change::Replace),
        1 => Just(Change::ClearList),
        4 => (text(), any::<u64>()).prop_map(|(k, v)| Change::Put(k, v)),
        2 => prop::collection::vec((text(), any::<u64>()), 0..5).prop_map(Change::PutAll),
        2 => text().prop_map(Change::Remove),
        1 => Just(Change::RetainOdd),
        1 => Just(Change::ClearMap),
        4 => any::<u64>().prop_map(Change::Reduce),
        1 => Just(Change::ClearReduced),
        4 => text().prop_map(Change::Aggregate),
        1 => Just(Change::ClearAggregate),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let namespace = prop::option::of(0..3u32);
    let op = prop_oneof![
        60 => (0..KEYS.len(), namespace, change()).prop_map(|(k, n, c)| Op::Change(k, n, c)),
        4 => Just(Op::Freeze),
        8 => (1..200usize).prop_map(Op::Drain),
        1 => Just(Op::Abandon),
        4 => Just(Op::Restore),
        2 => Just(Op::VisitKeys),
    ];
    prop::collection::vec(op, 1..150)
}

/// What one key has in one namespace.
#[derive(Clone, Debug, Default, PartialEq)]
struct Content {
    value: Option<String>,
    list: Vec<String>,
    map: BTreeMap<String, u64>,
    reduced: Option<u64>,
    aggregate: Option<(u32, u64)>,
}

type Place = (usize, Option<u32>);

struct Pair {
    states: Subtasks<String>,
    handles: Handles,
    model: HashMap<Place, Content>,
    frozen: Option<HashMap<Place, Content>>,
    restores: usize,
}

macro_rules! view {
    ($pair:ident, $key:expr, $namespace:expr, $kind:ident) => {{
        let view = $key.$kind($pair.handles.$kind);
        match $namespace {
            Some(namespace) => view.within(namespace),
            None => view,
        }
    }};
}

impl Pair {
    fn new(make: Make) -> Self {
        let (declared, handles) = declare(None);
        let states = Subtasks::new(&declared, make, 1);
        Self { states, handles, model: HashMap::new(), frozen: None, restores: 0 }
    }

    fn change(&mut self, (key, namespace): Place, change: Change) {
        let content = self.model.entry((key, namespace)).or_default();
        let mut at = self.states.at(KEYS[key]);
        match change {
            Change::Set(text) => {
                view!(self, at, namespace, value).set(&text);
                content.value = Some(text);
            }
            Change::Update(n) => {
                view!(self, at, namespace, value).update(|text| text.push(char::from(n % 26 + b'a')));
                content.value.get_or_insert_default().push(char::from(n % 26 + b'a'));
            }
            Change::Take => {
                assert_eq!(view!(self, at, namespace, value).take(), content.value.take());
            }
            Change::ClearValue => {
                view!(self, at, namespace, value).clear();
                content.value = None;
            }
            Change::Add(text) => {
                view!(self, at, namespace, list).add(&text);
                content.list.push(text);
            }
            Change::AddAll(texts) => {
                view!(self, at, namespace, list).add_all(texts.iter().map(String::as_str));
                content.list.extend(texts);
            }
            Change::Replace(texts) => {
                view!(self, at, namespace, list).replace(texts.iter().map(String::as_str));
                content.list = texts;
            }
            Change::ClearList => {
                view!(self, at, namespace, list).clear();
                content.list.clear();
            }
            Change::Put(key, value) => {
                view!(self, at, namespace, map).put(&key, value);
                content.map.insert(key, value);
            }
            Change::PutAll(entries) => {
                view!(self, at, namespace, map)
                    .put_all(entries.iter().map(|(key, value)| (key.as_str(), *value)));
                content.map.extend(entries);
            }
            Change::Remove(key) => {
                let was = view!(self, at, namespace, map).remove(&key);
                assert_eq!(was, content.map.remove(&key).is_some());
            }
            Change::RetainOdd => {
                let mut seen = BTreeMap::new();
                view!(self, at, namespace, map).retain(|key, value| {
                    assert_eq!(seen.insert(key.to_owned(), value), None);
                    value % 2 == 1
                });
                assert_eq!(seen, content.map);
                content.map.retain(|_, value| *value % 2 == 1);
            }
            Change::ClearMap => {
                view!(self, at, namespace, map).clear();
                content.map.clear();
            }
            Change::Reduce(n) => {
                view!(self, at, namespace, reducing).add(n);
                content.reduced = Some(content.reduced.map_or(n, |so_far| so_far.wrapping_add(n)));
            }
            Change::ClearReduced => {
                view!(self, at, namespace, reducing).clear();
                content.reduced = None;
            }
            Change::Aggregate(text) => {
                view!(self, at, namespace, aggregating).add(&text);
                let (count, sum) = content.aggregate.unwrap_or_default();
                content.aggregate = Some((count + 1, sum + text.len() as u64));
            }
            Change::ClearAggregate => {
                view!(self, at, namespace, aggregating).clear();
                content.aggregate = None;
            }
        }
        self.compare((key, namespace));
    }

    fn compare(&mut self, (key, namespace): Place) {
        let expected = self.model.get(&(key, namespace)).cloned().unwrap_or_default();
        let mut at = self.states.at(KEYS[key]);
        assert_eq!(view!(self, at, namespace, value).get(), expected.value.as_deref());
        assert_eq!(view!(self, at, namespace, list).get().collect::<Vec<_>>(), expected.list);
        assert_eq!(view!(self, at, namespace, list).is_empty(), expected.list.is_empty());
        let map: BTreeMap<_, _> =
            view!(self, at, namespace, map).iter().map(|(key, value)| (key.to_owned(), value)).collect();
        assert_eq!(map, expected.map);
        for (key, value) in &expected.map {
            assert_eq!(view!(self, at, namespace, map).get(key), Some(*value));
            assert!(view!(self, at, namespace, map).contains(key));
        }
        assert!(!view!(self, at, namespace, map).contains("no such key"));
        assert_eq!(view!(self, at, namespace, map).is_empty(), expected.map.is_empty());
        assert_eq!(view!(self, at, namespace, reducing).get(), expected.reduced);
        let result = expected.aggregate.map(|(count, sum)| format!("{sum} in {count}"));
        assert_eq!(view!(self, at, namespace, aggregating).get(), result);
    }

    fn compare_all(&mut self) {
        for key in 0..KEYS.len() {
            for namespace in [None, Some(0), Some(1), Some(2)] {
                self.compare((key, namespace));
            }
        }
        let total = |of: fn(&Content) -> usize| self.model.values().map(of).sum::<usize>();
        let expected = [
            total(|c| usize::from(c.value.is_some())),
            total(|c| c.list.len()),
            total(|c| c.map.len()),
            total(|c| usize::from(c.reduced.is_some())),
            total(|c| usize::from(c.aggregate.is_some())),
        ];
        assert_eq!([0, 1, 2, 3, 4].map(|state| self.states.entries(state)), expected, "and nothing else");
    }

    fn visit_keys(&mut self) {
        let mut seen = Vec::new();
        for states in &self.states.all {
            let mut visit = KeyVisit::default();
            while states.next_key(&mut visit) {
                seen.push(visit.key().unwrap().1.to_owned());
            }
            assert!(visit.key().is_none());
        }
        let keys: BTreeSet<String> = seen.iter().cloned().collect();
        assert_eq!(keys.len(), seen.len(), "each key once");
        let has = |content: &Content| *content != Content::default();
        let expected = self.model.iter().filter(|(_, content)| has(content));
        assert_eq!(keys, expected.map(|((key, _), _)| KEYS[*key].to_owned()).collect());
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Change(key, namespace, change) => self.change((key, namespace), change),
            Op::Freeze if self.frozen.is_none() => {
                self.states.freeze();
                self.frozen = Some(self.model.clone());
            }
            Op::Freeze => {}
            Op::Drain(budget) => self.states.drain(budget),
            Op::Abandon => {
                self.states.abandon();
                self.frozen = None;
            }
            Op::Restore => self.restore(),
            Op::VisitKeys => self.visit_keys(),
        }
    }

    fn restore(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            self.states.take();
            self.states.restore(WIDTHS[self.restores % WIDTHS.len()]);
            self.restores += 1;
            self.model = frozen;
            self.compare_all();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn st_02_every_kind_is_what_it_is_modelled_on(ops in ops()) {
        for (_, make) in BACKENDS {
            let mut pair = Pair::new(make);
            for op in &ops {
                pair.apply(op.clone());
            }
            for _ in WIDTHS {
                pair.apply(Op::Freeze);
                pair.restore();
            }
            pair.visit_keys();
        }
    }
}
