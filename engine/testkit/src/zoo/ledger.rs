//! A keyed function with a state of each kind and both kinds of timers.

use millstream::state::{Declarations, List, Map, Scope, Timer, TimerKind, Timers, Value};
use millstream::{Collector, KeyedFunction};

/// How long after its first record a key is called, in milliseconds: some before the end of the input, some not.
const PATIENCE: i64 = 20;

/// Hands numbers on as lines, is called for each key once by the clock or else at the end, for some numbers by event time,
/// and says at the end what it has.
#[derive(Clone)]
pub struct Ledger {
    /// Whether the clock has called.
    called: Value<bool>,
    numbers: List<u64>,
    by_digit: Map<u8, u64, u8>,
    timers: Timers<u64>,
}

impl Ledger {
    /// One whose states are these.
    pub fn declare(states: &mut Declarations<u64>) -> Self {
        Self {
            called: states.value("called"),
            numbers: states.list("numbers"),
            by_digit: states.with_namespaces().map("by digit"),
            timers: states.with_namespaces().timers(),
        }
    }
}

impl KeyedFunction for Ledger {
    type Key = u64;
    type In = u64;
    type Out = Vec<u8>;

    fn process(&mut self, n: u64, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, Vec<u8>>) {
        if cx.list(self.numbers).is_empty() {
            let due = cx.now_ms() as i64 + PATIENCE;
            cx.timers(self.timers).register_processing(due);
        }
        cx.list(self.numbers).add(n);
        let half = (n % 2) as u8;
        let digit = (n % 10) as u8;
        let so_far = cx.map(self.by_digit).within(half).get(digit).unwrap_or(0);
        cx.map(self.by_digit).within(half).put(digit, so_far + 1);
        if n.is_multiple_of(3) {
            cx.timers(self.timers).within(n).register_event(1000 - n as i64);
        }
        // Registered and taken back: never called.
        cx.timers(self.timers).within(n).register_event(n as i64);
        cx.timers(self.timers).within(n).delete_event(n as i64);
        out.emit(format!("{} has {n}", cx.key()).as_bytes());
    }

    fn on_timer(&mut self, timer: &Timer<u64>, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, Vec<u8>>) {
        match (timer.kind(), timer.namespace(self.timers)) {
            (TimerKind::Event, Some(n)) => out.emit(format!("{n} is due").as_bytes()),
            _ => {
                cx.value(self.called).set(true);
                out.emit(format!("{} was called", cx.key()).as_bytes());
            }
        }
    }

    fn on_end(&mut self, cx: &mut Scope<'_, u64>, out: &mut Collector<'_, Vec<u8>>) {
        if cx.value(self.called).get().is_none() {
            out.emit(format!("{} was called", cx.key()).as_bytes());
        }
        let mut numbers: Vec<u64> = cx.list(self.numbers).get().collect();
        numbers.sort_unstable();
        out.emit(format!("{} had {numbers:?}", cx.key()).as_bytes());
        for half in [0, 1] {
            let mut digits: Vec<(u8, u64)> = cx.map(self.by_digit).within(half).iter().collect();
            digits.sort_unstable();
            out.emit(format!("{} by digit {digits:?}", cx.key()).as_bytes());
        }
    }
}
