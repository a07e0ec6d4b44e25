//! A keyed function as the head of a subtask.

use super::failed::function_failed;
use super::noted::Noted;
use super::wake::{Alarm, Turn};
use super::{KeyedFunction, backends};
use crate::error::Error;
use crate::operator::{Chain, Collector, Control, Signal, Stage};
use crate::task::{BuildContext, EdgeIndex, Fault, InputTask, Intake, OperatorIndex, Restored, Subtask};
use millstream_io::clock::{Clock, Moment};
use millstream_io::counters::Counters;
use millstream_io::error::Class;
use millstream_io::record::{Key, Record, View};
use millstream_io::segment::Segment;
use millstream_state::OperatorId;
use millstream_state::key_group::Router;
use millstream_state::kinds::{Declarations, KeyVisit, States, Timer, TimerKind};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// How many entries of a state with a time to live are looked at for each record.
const LOOKS_PER_RECORD: usize = 4;

/// Description of a keyed function; the head of its chain.
pub struct Function<T, K, F, KF> {
    pub(crate) inputs: Vec<EdgeIndex>,
    pub(crate) operator: OperatorIndex,
    pub(crate) key: KF,
    pub(crate) f: F,
    pub(crate) declared: Declarations<K>,
    pub(crate) of: PhantomData<fn() -> T>,
}

impl<T, K, F: Clone, KF: Clone> Clone for Function<T, K, F, KF> {
    fn clone(&self) -> Self {
        Self {
            inputs: self.inputs.clone(),
            operator: self.operator,
            key: self.key.clone(),
            f: self.f.clone(),
            declared: self.declared.clone(),
            of: PhantomData,
        }
    }
}

impl<T, K, F, KF> Chain for Function<T, K, F, KF>
where
    T: Record,
    K: Key,
    F: KeyedFunction<Key = K, In = T>,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Clone + Send + 'static,
{
    type Out = F::Out;

    fn build<S: Stage<F::Out>>(self, cx: &mut BuildContext<'_>, below: S) -> Result<Box<dyn Subtask>, Error> {
        let id = cx.operator_id(self.operator);
        let states = States::new(&self.declared, cx.width, cx.subtask, backends::maker(cx));
        let head = FunctionHead {
            id,
            states: states.map_err(|fault| function_failed(id, fault))?,
            key: self.key,
            f: self.f,
            timer: Timer::new(),
            visit: None,
            alarm: Alarm::new(cx.clock.clone()),
            clock: cx.clock.clone(),
            owner: cx.width.router(),
            subtask: cx.subtask,
            fault: cx.fault.clone(),
            counters: cx.counters.clone(),
            below,
            of: PhantomData,
        };
        Ok(Box::new(InputTask::new(cx, &self.inputs, self.operator, head)))
    }
}

struct FunctionHead<F: KeyedFunction, KF, S> {
    id: OperatorId,
    states: States<F::Key>,
    key: KF,
    f: F,
    /// The last timer that was called.
    timer: Timer<F::Key>,
    /// How far the visit to all keys at the end has come; none before the end.
    visit: Option<KeyVisit<F::Key>>,
    alarm: Alarm,
    clock: Arc<dyn Clock>,
    /// Where keys belong.
    owner: Router,
    subtask: usize,
    fault: Fault,
    counters: Arc<Counters>,
    below: S,
    of: PhantomData<fn() -> F>,
}

impl<T, K, F, KF, S> Intake<T> for FunctionHead<F, KF, S>
where
    T: Record,
    K: Key,
    F: KeyedFunction<Key = K, In = T>,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Send + 'static,
    S: Stage<F::Out>,
{
    fn take(&mut self, segment: &Segment<T>, rows: Range<usize>) -> usize {
        self.states.set_time(self.clock.wall_ms());
        let Self { states, key, f, fault, counters, below, .. } = self;
        let mut done = 0;
        for row in rows {
            let record = segment.row(row);
            let of = key(View::new(record.view()));
            let mut noted = Noted { below: &mut *below, any: false };
            let mut out = Collector::new(&mut noted, fault, counters);
            f.process(record.view(), &mut states.at(K::hash(of), of), &mut out);
            done += 1;
            if noted.any && below.is_full() {
                break;
            }
        }
        self.states.clean(done * LOOKS_PER_RECORD);
        self.look_for_faults();
        done
    }

    fn claim(&mut self, record: View<'_, T>) -> (bool, u64) {
        let hash = K::hash((self.key)(record));
        (self.owner.subtask(hash) == self.subtask, hash)
    }

    fn finish(&mut self, rows: usize) -> bool {
        self.states.set_time(self.clock.wall_ms());
        if self.visit.is_none() {
            self.visit = Some(KeyVisit::default());
            self.alarm.end();
            self.states.advance_watermark(i64::MAX);
        }
        for _ in 0..rows {
            if !self.call_timer(TimerKind::Event) && !self.call_end() {
                return true;
            }
            if self.below.is_full() {
                break;
            }
        }
        false
    }

    fn due(&mut self) -> Option<Moment> {
        self.alarm.due(&self.states)
    }
}

impl<F: KeyedFunction, KF, S: Stage<F::Out>> FunctionHead<F, KF, S> {
    /// Calls the function for the next timer that is due, if there is one.
    fn call_timer(&mut self, kind: TimerKind) -> bool {
        let Self { states, timer, f, fault, counters, below, .. } = self;
        let is_due = states.next_timer(kind, timer);
        if is_due && let Some((hash, key)) = timer.key() {
            let mut out = Collector::new(below, fault, counters);
            f.on_timer(timer, &mut states.at(hash, key), &mut out);
        }
        self.look_for_faults();
        is_due
    }

    /// Calls the function for the end of the next key, if there is one.
    fn call_end(&mut self) -> bool {
        let Self { states, visit: Some(visit), f, fault, counters, below, .. } = self else { return false };
        let is_there = states.next_key(visit);
        if is_there && let Some((hash, key)) = visit.key() {
            let mut out = Collector::new(below, fault, counters);
            f.on_end(&mut states.at(hash, key), &mut out);
        }
        self.look_for_faults();
        is_there
    }

    fn look_for_faults(&mut self) {
        if let Some(fault) = self.states.take_fault() {
            self.fault.raise(function_failed(self.id, fault));
        }
    }

    /// Time has passed: calls the function for timers that are due, and removes what has expired.
    fn tick(&mut self, now: Moment, due: &mut Option<Moment>) -> Result<(), Error> {
        self.states.set_time(self.clock.wall_ms());
        let clock = self.clock.clone();
        let mut turn = Turn::new(&*clock, now);
        while self.alarm.rings()
            && !self.below.is_full()
            && !turn.is_over()
            && self.call_timer(TimerKind::Processing)
        {}
        self.alarm.clean(&mut self.states, now);
        self.fault.check()?;
        *due = (*due).into_iter().chain(self.alarm.next(&self.states, now, self.below.is_full())).min();
        Ok(())
    }

    fn restore(&mut self, restored: &mut Restored) -> Result<(), Error> {
        self.states.set_time(self.clock.wall_ms());
        let (id, states) = (self.id, &mut self.states);
        let read = states.snapshots().try_for_each(|(index, state)| restored.state(id, index, state));
        let settled = read.and_then(|()| {
            self.states.restored().map_err(|(state, error)| {
                Error::new(Class::Fatal, "restore", format!("state {state:?} of operator {}", self.id), error)
            })
        });
        // What a state has no room for says more than that it could not be read.
        match self.states.take_fault() {
            Some(fault) => Err(function_failed(self.id, fault)),
            None => settled,
        }
    }
}

impl<F: KeyedFunction, KF, S: Stage<F::Out>> Control for FunctionHead<F, KF, S> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        let (id, states) = (self.id, &mut self.states);
        match signal {
            Signal::Open(restored) => self.restore(restored)?,
            Signal::Drain(draining) => states.snapshots().for_each(|(n, state)| draining.state(id, n, state)),
            Signal::Collect(parts) => states.snapshots().for_each(|(n, state)| parts.collect(id, n, state)),
            Signal::ForgetBase => states.snapshots().for_each(|(_, state)| state.forget_base()),
            Signal::Abandon(left) => states.snapshots().for_each(|(_, state)| **left |= !state.abandon()),
            Signal::Tick(now, due) => self.tick(*now, due)?,
            Signal::AlreadyEnded => self.alarm.end(),
            Signal::Aborted(id) => self.alarm.go_on(*id),
            _ => {}
        }
        self.below.signal(signal)?;
        if let Signal::Barrier(barrier, _) = signal {
            self.states.freeze();
            if barrier.last {
                self.alarm.pause(barrier.id);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> bool {
        self.below.flush()
    }

    fn ready(&mut self) -> bool {
        self.below.ready()
    }
}
