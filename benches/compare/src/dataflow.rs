//! `keyed-sum` on timely dataflow, two workers, against the engine on state in pages.

use crate::rounds::{self, Contestant, Rate};
use hashbrown::HashMap;
use millstream_benches::engine;
use millstream_benches::input::{Keyed, THREADS, Timed, mix};
use millstream_benches::workload::Outcome;
use std::cell::RefCell;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::{Input, Probe};
use timely::dataflow::{InputHandle, ProbeHandle};

/// Records of a worker between two moments of time.
const EPOCH: u64 = 1 << 16;

/// Moments that may be under way.
const AHEAD: u64 = 2;

/// One multiplication: keys that count up do not collide.
#[derive(Default)]
struct Hash(u64);

impl Hasher for Hash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    #[inline(always)]
    fn write_u64(&mut self, key: u64) {
        self.0 = hash(key);
    }
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    let wide = u128::from(key ^ 0xa076_1d64_78bd_642f) * 0xe703_7ed1_a0b4_28db;
    (wide >> 64) as u64 ^ wide as u64
}

/// Of an output that nothing is written to.
type Silent = CapacityContainerBuilder<Vec<()>>;

type Sums = HashMap<u64, u64, BuildHasherDefault<Hash>>;

/// Sums values per key, as the engine's side of the workload does.
fn timely(input: Keyed) -> Result<Outcome, String> {
    let timed = Arc::new(Timed::default());
    let all = Arc::new(Mutex::new([0_u64; 3]));
    let (marks, totals) = (Arc::clone(&timed), Arc::clone(&all));
    let workers = ::timely::execute(::timely::Config::process(THREADS as usize), move |worker| {
        let sums = Rc::new(RefCell::new(Sums::default()));
        let (mut records, probe) = (InputHandle::new(), ProbeHandle::new());
        worker.dataflow::<u64, _, _>(|scope| {
            let table = Rc::clone(&sums);
            scope
                .input_from(&mut records)
                .unary::<Silent, _, _, _>(
                    Exchange::new(|(key, _): &(u64, u64)| hash(*key) >> 32),
                    "sum",
                    |_, _| {
                        move |input, _| {
                            let mut sums = table.borrow_mut();
                            input.for_each_stamp(|_, records| {
                                for (key, value) in records.flat_map(|records| records.drain(..)) {
                                    let sum = sums.entry(key).or_insert(0_u64);
                                    *sum = sum.wrapping_add(value);
                                }
                            });
                        }
                    },
                )
                .probe_with(&probe);
        });
        let share = input.records() / THREADS;
        let from = share * worker.index() as u64;
        for (epoch, at) in (from..from + share).step_by(EPOCH as usize).enumerate() {
            for i in at..(at + EPOCH).min(from + share) {
                if input.begins(i) {
                    marks.begin();
                }
                records.send(input.record(i));
            }
            let epoch = epoch as u64;
            records.advance_to(epoch + 1);
            worker.step_while(|| probe.less_than(&(epoch + 1).saturating_sub(AHEAD)));
        }
        records.close();
        worker.step_while(|| !probe.done());
        marks.end();
        let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, sum) in sums.borrow().iter() {
            totals[0] += 1;
            totals[1] = totals[1].wrapping_add(*sum);
            totals[2] = totals[2].wrapping_add(mix(*key).wrapping_mul(*sum));
        }
    })?;
    workers.join().into_iter().try_for_each(|worker| worker)?;
    let [keys, sum, mixed] = *all.lock().unwrap_or_else(PoisonError::into_inner);
    let result = vec![("keys", keys), ("sum", sum), ("per key", mixed)];
    Ok(Outcome::rate(input.timed, timed.seconds()?, result))
}

/// The engine and timely.
///
/// # Errors
/// Those of either, or results that differ.
pub fn compare(rounds: usize) -> Result<(), String> {
    let sizes = [("1k", 1_000, 100_000_000), ("1m", 1_000_000, 60_000_000), ("10m", 10_000_000, 50_000_000)];
    for (name, keys, timed) in sizes {
        let input = Keyed { keys, timed };
        let expected = RefCell::new(None);
        let checked = |outcome: Outcome| -> Rate {
            let expected = expected.borrow_mut().get_or_insert_with(|| outcome.result.clone()).clone();
            if expected == outcome.result { Ok(outcome.figure) } else { Err("another result".into()) }
        };
        let contestants: [Contestant<'_>; 2] = [
            ("millstream", Box::new(|| checked(engine::keyed_sum::paged(input, None)?))),
            ("timely", Box::new(|| checked(timely(input)?))),
        ];
        rounds::compare(&format!("keyed-sum/{name}"), rounds, &contestants)?;
    }
    Ok(())
}
