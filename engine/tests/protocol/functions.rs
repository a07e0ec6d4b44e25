//! Keyed functions with states of every kind and timers, through whole jobs.

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::CollectSink;
use millstream::state::{
    Aggregate, Aggregating, List, Map, Reduce, Reducing, Scope, Timer, TimerKind, Timers, Ttl, Value,
};
use millstream::state::{
    BackendFactory, BackendName, HeapOrdered, KeyGroupRange, OrderedBackend, PagedFault, StateDescriptor,
};
use millstream::{CheckpointId, Class, Collector, Env, KeyedFunction};
use millstream_io::clock::ManualClock;
use millstream_io::storage::MemoryStorage;
use millstream_state::metadata::KeyedHandle;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const KEYS: u64 = 100;
const BACKENDS: [StateBackend; 2] = [StateBackend::Hashmap, StateBackend::Paged];

#[derive(Clone)]
struct Greatest;

impl Reduce for Greatest {
    type Value = u64;
    fn reduce(so_far: &mut u64, value: u64) {
        *so_far = value.max(*so_far);
    }
}

#[derive(Clone)]
struct Mean;

impl Aggregate for Mean {
    type In = u64;
    type Accumulator = (u64, u64);
    type Out = u64;
    fn add((count, sum): &mut (u64, u64), value: u64) {
        *count += 1;
        *sum += value;
    }
    fn result((count, sum): (u64, u64)) -> u64 {
        sum / count
    }
}

/// Keeps everything in every way, and says at the end of the input what it has.
#[derive(Clone)]
struct Everything {
    count: Value<u64>,
    all: List<u64>,
    by_digit: Map<u8, String, bool>,
    greatest: Reducing<Greatest>,
    mean: Aggregating<Mean>,
}

impl KeyedFunction for Everything {
    type Key = u64;
    type In = u64;
    type Out = String;

    fn process(&mut self, n: u64, cx: &mut Scope<'_, u64>, _: &mut Collector<'_, String>) {
        cx.value(self.count).update(|count| *count += 1);
        cx.list(self.all).add(n);
        let (digit, even) = ((n / KEYS % 10) as u8, (n / KEYS).is_multiple_of(2));
        let seen = cx.map(self.by_digit).within(even).get(digit).unwrap_or_default().to_owned();
        cx.map(self.by_digit).within(even).put(digit, &format!("{seen}{n},"));
        cx.reducing(self.greatest).add(n);
        cx.aggregating(self.mean).add(n);
    }

    fn on_end(&mut self, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, String>) {
        let all: Vec<u64> = cx.list(self.all).get().collect();
        let mut lines = vec![format!("{} has {:?} {all:?}", cx.key(), cx.value(self.count).get())];
        for even in [false, true] {
            let digits: Vec<_> = cx.map(self.by_digit).within(even).iter().collect();
            lines.push(format!("{even} {digits:?}"));
        }
        lines.push(format!("{:?}", cx.reducing(self.greatest).get()));
        lines.push(format!("{:?}", cx.aggregating(self.mean).get()));
        out.emit(&lines.join(" "));
    }
}

fn everything(env: &Env, source: &Fed, parallelism: i64, sink: &CollectSink<String>) {
    env.source(source.clone())
        .name("in")
        .uid("in")
        .key_by::<u64>(|n| n.get() % KEYS)
        .function("everything", |states| Everything {
            count: states.value("count"),
            all: states.list("all"),
            by_digit: states.with_namespaces().map("by digit"),
            greatest: states.reducing("greatest"),
            mean: states.aggregating("mean"),
        })
        .uid("everything")
        .max_parallelism(128)
        .parallelism(parallelism)
        .sink(sink.clone())
        .uid("out");
}

/// What it says of the numbers from 1 to `last`, by arithmetic.
fn expected(last: u64) -> Vec<String> {
    let line = |key: u64| {
        let all: Vec<u64> = (1..=last).filter(|n| n % KEYS == key).collect();
        let mut digits = [BTreeMap::<u8, String>::new(), BTreeMap::new()];
        for n in &all {
            let digit = (n / KEYS % 10) as u8;
            digits[usize::from((n / KEYS).is_multiple_of(2))]
                .entry(digit)
                .or_default()
                .push_str(&format!("{n},"));
        }
        let [odd, even] = digits.map(|digits| format!("{:?}", digits.into_iter().collect::<Vec<_>>()));
        let (count, sum) = (all.len() as u64, all.iter().sum::<u64>());
        format!(
            "{key} has {:?} {all:?} false {odd} true {even} {:?} {:?}",
            Some(count),
            all.iter().max(),
            Some(sum / count)
        )
    };
    let mut lines: Vec<String> = (0..KEYS).map(line).collect();
    lines.sort();
    lines
}

/// At another parallelism after every crash: each state is where the records of its key come to, as it was.
#[test]
fn st_02_states_of_every_kind_go_on_at_any_parallelism() {
    for backend in BACKENDS {
        let mut disk = MemoryStorage::new();
        let source = Fed::new(3_000);
        let sink = CollectSink::<String>::new();
        for (round, parallelism) in [1, 7, 3, 128, 2].into_iter().enumerate() {
            let env = env();
            env.configure(|settings| settings.state.backend = backend);
            everything(&env, &source, parallelism, &sink);
            let mut hand = Hand::begin(&env, &disk);
            let from = 600 * round as u64;
            assert_eq!(source.opened(), format!("[{from}]"));
            source.allow(from + 600);
            hand.run_all();
            if round == 4 {
                source.end();
                hand.finish().unwrap();
                break;
            }
            hand.checkpoint();
            // Some more, which the crash undoes.
            source.allow(from + 900);
            hand.run_all();
            drop(hand);
            disk = disk.kill_image();
        }
        let mut lines = sink.collected().take();
        lines.sort();
        assert_eq!(lines, expected(3_000));
    }
}

/// Says when it was called for what.
#[derive(Clone)]
struct Called {
    timers: Timers<u32>,
    /// What a record registers.
    register: Register,
    /// How often a timer has called.
    calls: Arc<AtomicUsize>,
}

impl KeyedFunction for Called {
    type Key = u64;
    type In = u64;
    type Out = String;

    fn process(&mut self, n: u64, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, String>) {
        for (kind, time) in (self.register)(n) {
            let mut timers = cx.timers(self.timers).within(n as u32);
            match kind {
                TimerKind::Event => timers.register_event(time),
                TimerKind::Processing => timers.register_processing(time),
            }
        }
        out.emit(&format!("record {n}"));
    }

    fn on_timer(&mut self, timer: &Timer<u64>, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, String>) {
        let (kind, time, namespace) = (timer.kind(), timer.timestamp(), timer.namespace(self.timers));
        assert_eq!(timer.key().map(|(_, key)| key), Some(cx.key()));
        self.calls.fetch_add(1, Ordering::Relaxed);
        out.emit(&format!("{kind:?} {time} of {} for {:?}", cx.key(), namespace));
    }
}

type Register = fn(u64) -> Vec<(TimerKind, i64)>;

fn called(source: &Fed, parallelism: i64, register: Register, sink: &CollectSink<String>) -> Env {
    counted(source, parallelism, register, sink).0
}

/// The same, and how often a timer calls.
fn counted(
    source: &Fed,
    parallelism: i64,
    register: Register,
    sink: &CollectSink<String>,
) -> (Env, Arc<AtomicUsize>) {
    let (env, calls) = (env(), Arc::<AtomicUsize>::default());
    let counter = calls.clone();
    env.source(source.clone())
        .name("in")
        .uid("in")
        .key_by::<u64>(|n| n.get() % 10)
        .function("called", |states| Called {
            timers: states.with_namespaces().timers(),
            register,
            calls: counter,
        })
        .uid("called")
        .parallelism(parallelism)
        .max_parallelism(128)
        .sink(sink.clone())
        .uid("out");
    (env, calls)
}

const START: i64 = ManualClock::EPOCH_MS as i64;

#[test]
fn tm_02_event_timers_are_called_in_order_before_the_end() {
    let source = Fed::new(3);
    let register: Register = |n| vec![(TimerKind::Event, 100 - n as i64), (TimerKind::Event, i64::MAX)];
    let sink = CollectSink::new();
    let env = called(&source, 1, register, &sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(3);
    hand.run_all();
    hand.checkpoint();
    assert_eq!(sink.collected().take(), ["record 1", "record 2", "record 3"], "no watermark, no timer");
    source.end();
    hand.finish().unwrap();
    let mut lines = sink.collected().take();
    // Among equals there is no order.
    lines[3..].sort();
    let line = |time: i64, key: u64| format!("Event {time} of {key} for Some({key})");
    let expected =
        [line(97, 3), line(98, 2), line(99, 1), line(i64::MAX, 1), line(i64::MAX, 2), line(i64::MAX, 3)];
    assert_eq!(lines, expected);
}

/// The clock has them called, without a record, without a barrier; what is overdue after a restore is called at once; what
/// waits at the end is not called.
#[test]
fn tm_03_processing_timers_are_called_by_the_clock_at_once_after_a_restore_and_not_at_the_end() {
    let source = Fed::new(4);
    let register: Register = |n| {
        let at = [START + 250, START + 20, START + 40_000, START + 3_600_000][n as usize - 1];
        vec![(TimerKind::Processing, at), (TimerKind::Processing, at)]
    };
    let sink = CollectSink::new();
    let env = called(&source, 1, register, &sink);
    let disk = MemoryStorage::new();
    let mut hand = Hand::begin(&env, &disk);
    source.allow(2);
    hand.run_all();
    let line = |n: usize, at: i64| format!("Processing {} of {n} for Some({n})", START + at);
    let wait = |hand: &mut Hand, ms: u64| {
        hand.clock.advance(Duration::from_millis(ms));
        hand.run_all();
    };
    wait(&mut hand, 19);
    wait(&mut hand, 1);
    wait(&mut hand, 229);
    source.allow(3);
    hand.run_all();
    wait(&mut hand, 1);
    hand.checkpoint();
    let expected = ["record 1", "record 2", &line(2, 20), "record 3", &line(1, 250)];
    assert_eq!(sink.collected().take(), expected);
    drop(hand);

    // The job is not there when the third is due: 40 s after the start on a clock that goes on.
    let env = called(&source, 2, register, &sink);
    let mut hand = Hand::begin_at(&env, &disk.kill_image(), Duration::from_secs(90));
    hand.run_all();
    source.allow(4);
    hand.run_all();
    source.end();
    hand.run_all();
    // Between the end of the input and that of the job.
    wait(&mut hand, 4_000_000);
    hand.finish().unwrap();
    let mut lines = sink.collected().take();
    lines.sort();
    assert_eq!(lines, [line(3, 40_000), "record 4".to_owned()], "an hour has not passed");
}

#[test]
fn tm_04_a_timer_in_a_snapshot_is_called_once_at_any_parallelism() {
    let register: Register =
        |n| vec![(TimerKind::Processing, START + 1_000_000), (TimerKind::Event, n as i64)];
    for backend in BACKENDS {
        let (mut disk, source, sink) = (MemoryStorage::new(), Fed::new(50), CollectSink::new());
        for (round, parallelism) in [1, 7, 3, 128].into_iter().enumerate() {
            let env = called(&source, parallelism, register, &sink);
            env.configure(|settings| settings.state.backend = backend);
            let mut hand = Hand::begin(&env, &disk);
            source.allow(10 * (round as u64 + 1));
            hand.run_all();
            hand.checkpoint();
            drop(hand);
            disk = disk.kill_image();
        }
        let env = called(&source, 2, register, &sink);
        env.configure(|settings| settings.state.backend = backend);
        let mut hand = Hand::begin_at(&env, &disk, Duration::from_secs(2_000));
        hand.run_all();
        source.end();
        hand.finish().unwrap();
        let (mut lines, mut expected) = (sink.collected().take(), Vec::new());
        for n in 1..=50 {
            let after = format!("of {} for Some({n})", n % 10);
            expected.push(format!("Processing {} {after}", START + 1_000_000));
            expected.push(format!("Event {n} {after}"));
            expected.push(format!("record {n}"));
        }
        // Those of the last ten are registered in the past, and are called as well.
        lines.sort();
        expected.sort();
        assert_eq!(lines, expected);
    }
}

/// No timer is called between the last barrier and the stop: it would be called again by who goes on.
#[test]
fn ruling_4_a_stop_calls_no_timers_behind_its_barrier() {
    let source = Fed::new(2);
    let register: Register = |_| vec![(TimerKind::Processing, START + 500)];
    let sink = CollectSink::new();
    let (env, calls) = counted(&source, 1, register, &sink);
    let disk = MemoryStorage::new();
    let mut hand = Hand::begin(&env, &disk);
    source.allow(1);
    hand.run_all();
    hand.stop();
    hand.run_all();
    hand.clock.advance(Duration::from_secs(1));
    hand.run_all();
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    hand.finish().unwrap();
    assert_eq!(sink.collected().take(), ["record 1"]);
    let env = called(&source, 1, register, &sink);
    let mut hand = Hand::begin_at(&env, &disk, Duration::from_secs(2));
    hand.run_all();
    source.end();
    hand.finish().unwrap();
    assert_eq!(sink.collected().take()[0], format!("Processing {} of 1 for Some(1)", START + 500));
}

/// Remembers each number for a second.
#[derive(Clone)]
struct Remember {
    seen: Value<u64>,
}

impl KeyedFunction for Remember {
    type Key = u64;
    type In = u64;
    type Out = u64;

    fn process(&mut self, n: u64, cx: &mut Scope<'_, u64>, _: &mut Collector<'_, u64>) {
        cx.value(self.seen).set(n);
    }

    fn on_end(&mut self, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, u64>) {
        out.emit(cx.key());
    }
}

/// Entries of all states, as the newest parts of a checkpoint's key groups have them.
fn entries(disk: &MemoryStorage, id: CheckpointId) -> u64 {
    let mut entries = BTreeMap::new();
    for operator in crate::chain::metadata(disk, id).operators {
        let parts = operator.subtasks.into_iter().flat_map(|subtask| subtask.keyed);
        let of = |part: KeyedHandle| part.groups.into_iter().map(move |range| (part.state, range));
        entries.extend(
            parts.flat_map(of).map(|(state, range)| ((operator.id, state, range.group), range.entries)),
        );
    }
    entries.values().sum()
}

/// MS-049: entries that nobody reads leave all the same, under a trickle and under none. Pages count what there is; a snapshot of
/// tables would lack what has expired in any case.
#[test]
fn ms_049_expired_entries_leave_without_being_read() {
    const KEYS: u64 = 20_000;
    for backend in [StateBackend::Hashmap, StateBackend::Paged] {
        let (source, sink) = (Fed::new(KEYS + 1), CollectSink::new());
        let env = env();
        env.configure(|settings| {
            settings.state.backend = backend;
            settings.state.paged_small_state = ByteSize(0);
        });
        env.source(source.clone())
            .name("in")
            .key_by::<u64>(|n| n.get())
            .function("remember", |states| Remember {
                seen: states.with_ttl(Ttl::new(Duration::from_secs(15))).value("seen"),
            })
            .sink(sink.clone());
        let disk = MemoryStorage::new();
        let mut hand = Hand::begin(&env, &disk);
        source.allow(KEYS);
        hand.run_all();
        let bytes = |hand: &Hand| {
            let checkpoints = hand.control.metrics().checkpoints;
            checkpoints.latest_completed().map_or(0, |record| record.metrics.full_bytes)
        };
        let id = hand.checkpoint();
        assert_eq!(entries(&disk, id), KEYS, "10 seconds old");
        let most = bytes(&hand);
        // No record comes; the driver wakes the subtask when it has asked for it.
        for _ in 0..200 {
            hand.clock.advance(Duration::from_millis(100));
            hand.run_all();
        }
        let id = hand.checkpoint();
        assert!(entries(&disk, id) <= 2, "{backend:?}: {} entries", entries(&disk, id));
        assert!(backend == StateBackend::Paged || bytes(&hand) * 10 < most, "{} of {most}", bytes(&hand));
        source.end();
        hand.finish().unwrap();
        assert_eq!(sink.collected().take(), [KEYS + 1], "of those that are left");
    }
}

/// ER-12: a state of another kind under the name of an old one.
#[test]
fn st_03_a_state_that_has_changed_its_kind_is_refused() {
    #[derive(Clone)]
    struct Other(List<u64>);

    impl KeyedFunction for Other {
        type Key = u64;
        type In = u64;
        type Out = u64;
        fn process(&mut self, n: u64, cx: &mut Scope<'_, u64>, _: &mut Collector<'_, u64>) {
            cx.list(self.0).add(n);
        }
    }

    let (source, disk) = (Fed::new(20), MemoryStorage::new());
    let env_with = |changed: bool| {
        let env = env();
        let keyed = env.source(source.clone()).name("in").uid("in").key_by::<u64>(|n| n.get());
        if changed {
            keyed
                .function("f", |states| Other(states.list("seen")))
                .uid("f")
                .sink(CollectSink::new())
                .uid("out");
        } else {
            keyed
                .function("f", |states| Remember { seen: states.value("seen") })
                .uid("f")
                .sink(CollectSink::new())
                .uid("out");
        }
        env
    };
    let mut hand = Hand::begin(&env_with(false), &disk);
    source.allow(10);
    hand.run_all();
    hand.checkpoint();
    drop(hand);
    let refused = Hand::try_launch(&env_with(true), &disk.kill_image()).err().unwrap();
    assert_eq!(refused.class(), Class::Refuse);
    let text = refused.to_string();
    assert!(
        text.contains("\"seen\"") && text.contains("value in the snapshot, keyed list in the program"),
        "{text}"
    );
}

/// ST-03: names are unique.
#[test]
fn st_03_two_states_of_one_name_are_refused() {
    let env = env();
    env.source(Fed::new(1))
        .key_by::<u64>(|n| n.get())
        .function("f", |states| {
            let _: List<u64> = states.list("seen");
            Remember { seen: states.value("seen") }
        })
        .sink(CollectSink::new());
    let refused = Hand::try_launch(&env, &MemoryStorage::new()).err().unwrap();
    assert_eq!(refused.class(), Class::Refuse);
    assert!(refused.to_string().contains("seen: declared twice by f"), "{refused}");
}

/// MS-028 through a job: the error names state and key, and a restart would not help.
#[test]
fn ms_028_a_list_that_is_too_long_ends_the_job() {
    #[derive(Clone)]
    struct Hoard(List<Vec<u8>>);

    impl KeyedFunction for Hoard {
        type Key = u64;
        type In = u64;
        type Out = u64;
        fn process(&mut self, _: u64, cx: &mut Scope<'_, u64>, _: &mut Collector<'_, u64>) {
            cx.list(self.0).add(&[0; 1 << 20]);
        }
    }

    let (env, source) = (env(), Fed::new(100));
    env.source(source.clone())
        .key_by::<u64>(|_| 7)
        .function("hoard", |states| Hoard(states.list("all")))
        .sink(CollectSink::new());
    source.end();
    let error = Hand::begin(&env, &MemoryStorage::new()).finish().unwrap_err();
    assert_eq!(error.class(), Class::Data);
    let text = error.to_string();
    assert!(
        text.contains("state \"all\", key with hash 0x") && text.contains("67108864 is the most"),
        "{text}"
    );
}

/// Counts what it makes.
struct Shelves(Arc<AtomicUsize>);

impl BackendFactory for Shelves {
    fn create(
        &self,
        state: &StateDescriptor,
        groups: KeyGroupRange,
    ) -> Result<Box<dyn OrderedBackend>, PagedFault> {
        assert_eq!(state.backend.to_string(), "shelves");
        if state.name == "mean" && groups.len() == 42 {
            return Err(PagedFault::Own("the shelf is gone".into()));
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(HeapOrdered::new(groups)))
    }
}

fn own(backend: &str) -> StateBackend {
    BackendName::new(backend).map(StateBackend::Own).unwrap()
}

#[test]
fn be_01_a_backend_of_the_program_s_own_keeps_the_states_of_functions() {
    let (source, sink, made) = (Fed::new(600), CollectSink::new(), Arc::<AtomicUsize>::default());
    let job = |parallelism| {
        let env = env();
        env.state_backend("shelves", Shelves(made.clone()));
        env.configure(|settings| settings.state.backend = own("shelves"));
        everything(&env, &source, parallelism, &sink);
        env
    };
    let disk = MemoryStorage::new();
    let mut hand = Hand::begin(&job(2), &disk);
    assert_eq!(made.load(Ordering::Relaxed), 10, "five states of two subtasks");
    source.allow(300);
    hand.run_all();
    hand.checkpoint();
    drop(hand);
    let disk = disk.kill_image();

    // BE-09: what it wrote is for it alone.
    let other = env();
    everything(&other, &source, 2, &sink);
    let refused = Hand::try_launch(&other, &disk).err().unwrap();
    assert_eq!(refused.class(), Class::Refuse);
    assert!(
        refused.to_string().contains("the hashmap backend cannot read what the shelves backend wrote"),
        "{refused}"
    );

    // A backend that cannot be made fails the attempt with its own words.
    let failed = Hand::try_launch(&job(3), &disk).err().unwrap();
    assert!(failed.to_string().contains("state \"mean\": the shelf is gone"), "{failed}");

    let mut hand = Hand::begin(&job(7), &disk);
    hand.run_all();
    source.end();
    hand.finish().unwrap();
    let mut lines = sink.collected().take();
    lines.sort();
    assert_eq!(lines, expected(600));
}

#[test]
fn be_01_er_20_a_name_that_no_backend_has_is_refused_by_name() {
    let refused = |names: &[&str], wanted: &str| {
        let (env, source) = (env(), Fed::new(1));
        names.iter().for_each(|name| env.state_backend(*name, Shelves(Arc::default())));
        env.configure(|settings| settings.state.backend = own(wanted));
        everything(&env, &source, 1, &CollectSink::new());
        let refused = Hand::try_launch(&env, &MemoryStorage::new()).err().unwrap();
        assert_eq!(refused.class(), Class::Refuse);
        refused.to_string()
    };
    let text = refused(&["shelves"], "rocksdb");
    assert!(
        text.contains(
            "state.backend.type = rocksdb: no backend has this name: expected hashmap | paged | shelves"
        ),
        "{text}"
    );
    let text = refused(&["paged"], "rocksdb");
    assert!(text.contains("paged: a backend cannot have this name"), "{text}");
    let text = refused(&["shelves", "shelves"], "shelves");
    assert!(text.contains("shelves: two backends are registered under this name"), "{text}");
}
