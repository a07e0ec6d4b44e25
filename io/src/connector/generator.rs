//! A source of records that are a function of their index.

use super::ranges::{self, Range};
use crate::clock::{Clock, Moment};
use crate::emit::Emit;
use crate::error::{Class, ConnectorError};
use crate::record::Record;
use crate::source::{Poll, Redistribution, Source, SourceContext};
use std::sync::Arc;

/// Bytes of records in one batch, about.
const BATCH: usize = 64 * 1024;

/// Emits `make(0)`, `make(1)`, … `make(count - 1)`, each once, shared evenly among the subtasks.
///
/// Replayable: which indices are left is part of every checkpoint (SR-10), and they are shared anew at a start with
/// another parallelism. Each subtask emits its indices in ascending order. `make` must be a pure function, or a
/// restart would emit other records than the first attempt did.
///
/// ```
/// use millstream_io::connector::Generator;
///
/// let squares = Generator::new(1_000_000, |i| (i, i * i));
/// let paced = Generator::new(u64::MAX, |i| i).rate(50_000);
/// # let _ = (squares, paced);
/// ```
pub struct Generator<T, F> {
    count: u64,
    make: F,
    rate: Option<u64>,
    left: Vec<Range>,
    pace: Option<Pace>,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T, F: Clone> Clone for Generator<T, F> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), left: self.left.clone(), pace: self.pace.clone(), ..*self }
    }
}

impl<T: Record, F: Fn(u64) -> T> Generator<T, F> {
    /// Emits `count` records; `make` gets the index.
    pub fn new(count: u64, make: F) -> Self {
        Self { count, make, rate: None, left: Vec::new(), pace: None, of: std::marker::PhantomData }
    }

    /// Emits at most so many records per second, all subtasks together, from when the attempt began; what a slow job
    /// could not take in time follows as soon as it can. Zero stands for no limit.
    #[must_use]
    pub fn rate(mut self, per_second: u64) -> Self {
        self.rate = (per_second > 0).then_some(per_second);
        self
    }
}

/// When each record of one subtask is due.
#[derive(Clone)]
struct Pace {
    clock: Arc<dyn Clock>,
    begin: Moment,
    emitted: u64,
    per_second: u64,
    subtasks: u64,
}

impl Pace {
    /// Records that may be emitted now.
    fn allowed(&self, now: Moment) -> u64 {
        let passed = now.saturating_sub(self.begin).as_nanos();
        let due = passed * u128::from(self.per_second) / (1_000_000_000 * u128::from(self.subtasks));
        u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.emitted)
    }

    /// When the next record is due, rounded up.
    fn next(&self) -> Moment {
        let scaled = (u128::from(self.emitted) + 1) * 1_000_000_000 * u128::from(self.subtasks);
        let nanos = scaled.div_ceil(u128::from(self.per_second));
        self.begin + Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl<T, F> Source for Generator<T, F>
where
    T: Record,
    F: Fn(u64) -> T + Clone + Send + 'static,
{
    type Out = T;
    type Split = (u64, u64);

    const REDISTRIBUTION: Redistribution = Redistribution::Union;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<Range>, ConnectorError> {
        Ok(vec![(0, self.count)])
    }

    fn check(
        &mut self,
        _: &SourceContext,
        splits: Vec<Range>,
        _allow_dropped: bool,
    ) -> Result<Vec<Range>, ConnectorError> {
        within("generator", self.count, splits)
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<Range>) -> Result<(), ConnectorError> {
        self.left = ranges::cut(splits, cx.subtask, cx.parallelism);
        // Last one first: ranges are taken from the end.
        self.left.reverse();
        let begin = cx.clock.now();
        self.pace = self.rate.map(|per_second| Pace {
            clock: cx.clock,
            begin,
            emitted: 0,
            per_second,
            subtasks: cx.parallelism as u64,
        });
        Ok(())
    }

    #[inline]
    fn poll(&mut self, out: &mut impl Emit<T>) -> Result<Poll, ConnectorError> {
        let Some((start, end)) = self.left.last_mut() else { return Ok(Poll::Done) };
        let mut n = (BATCH / size_of::<T>().max(1)).clamp(16, 8192) as u64;
        if let Some(pace) = &self.pace {
            let allowed = pace.allowed(pace.clock.now());
            if allowed == 0 {
                return Ok(Poll::Idle(Some(pace.next())));
            }
            n = n.min(allowed);
        }
        let (first, to) = (*start, *start + n.min(*end - *start));
        // A copy of its own stays in registers, where the original might have been changed by any row that is written.
        let make = self.make.clone();
        while *start < to {
            let mut portion = *start..to.min(start.saturating_add(out.portion() as u64));
            out.emit_all(portion.by_ref().map(&make));
            // One that takes nothing has failed.
            let stuck = portion.start == *start;
            *start = portion.start;
            if stuck || out.is_full() {
                break;
            }
        }
        if let Some(pace) = &mut self.pace {
            pace.emitted += *start - first;
        }
        if start == end {
            self.left.pop();
        }
        Ok(if self.left.is_empty() { Poll::Done } else { Poll::More })
    }

    fn snapshot(&mut self) -> Result<Vec<Range>, ConnectorError> {
        Ok(self.left.clone())
    }
}

/// The restored ranges, or a refusal when one lies outside an input of `count` elements.
pub(super) fn within(what: &str, count: u64, splits: Vec<Range>) -> Result<Vec<Range>, ConnectorError> {
    match splits.iter().find(|(start, end)| start > end || *end > count) {
        None => Ok(splits),
        Some((start, end)) => Err(ConnectorError::new(
            Class::Refuse,
            "restore source",
            what,
            format!("the checkpoint goes on with elements {start} to {end}, this job has {count}"),
        )
        .with_hint("start the job with the input that it had, or with --fresh")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::connector::testing::{Collected, Scene};
    use std::time::Duration;

    fn run(scene: &Scene, generator: &Generator<u64, fn(u64) -> u64>, splits: Vec<Range>) -> Vec<u64> {
        let mut out = Collected::default();
        for subtask in 0..scene.parallelism {
            let mut source = generator.clone();
            source.open(scene.context(subtask), splits.clone()).unwrap();
            while source.poll(&mut out).unwrap() != Poll::Done {}
        }
        out.records
    }

    fn identity(i: u64) -> u64 {
        i
    }

    fn numbers(count: u64) -> Generator<u64, fn(u64) -> u64> {
        Generator::new(count, identity)
    }

    #[test]
    fn every_index_once_at_any_parallelism() {
        for parallelism in 1..5 {
            let scene = Scene::new(parallelism);
            let mut generator = numbers(20_000);
            let splits = generator.discover(&scene.context(0)).unwrap();
            assert_eq!(run(&scene, &generator, splits), (0..20_000).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sr10_a_snapshot_at_any_batch_goes_on_behind_what_was_emitted_at_another_parallelism() {
        let scene = Scene::new(2);
        let mut generator = numbers(50_000);
        let splits = generator.discover(&scene.context(0)).unwrap();
        for polls in 0..8 {
            let mut out = Collected::default();
            let mut state = Vec::new();
            for subtask in 0..2 {
                let mut source = generator.clone();
                source.open(scene.context(subtask), splits.clone()).unwrap();
                for _ in 0..polls {
                    if source.poll(&mut out).unwrap() == Poll::Done {
                        break;
                    }
                }
                state.extend(source.snapshot().unwrap());
            }
            out.records.extend(run(&Scene::new(3), &generator, state));
            out.records.sort_unstable();
            assert_eq!(out.records, (0..50_000).collect::<Vec<_>>(), "after {polls} polls");
        }
    }

    #[test]
    fn a_rate_of_1000_on_two_subtasks_gives_each_one_record_every_2_ms() {
        let clock = Arc::new(ManualClock::new());
        clock.advance(Duration::from_secs(7));
        let scene = Scene::new(2).with_clock(clock.clone());
        let mut source = numbers(10).rate(1000);
        let splits = source.discover(&scene.context(0)).unwrap();
        source.open(scene.context(1), splits).unwrap();
        let mut out = Collected::default();
        for n in 1..=4 {
            let due = Duration::from_secs(7) + Duration::from_millis(2 * n);
            assert_eq!(source.poll(&mut out).unwrap(), Poll::Idle(Some(due)));
            clock.advance_to(due - Duration::from_nanos(1));
            assert_eq!(source.poll(&mut out).unwrap(), Poll::Idle(Some(due)));
            clock.advance_to(due);
            assert_eq!(source.poll(&mut out).unwrap(), Poll::More);
            assert_eq!(out.records.len() as u64, n);
        }
        clock.advance(Duration::from_secs(1));
        assert_eq!(source.poll(&mut out).unwrap(), Poll::Done);
        assert_eq!(out.records, [5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_checkpoint_of_a_longer_input_is_refused() {
        let scene = Scene::new(1);
        let error = numbers(10).check(&scene.context(0), vec![(5, 11)], true).unwrap_err();
        assert_eq!(error.class, Class::Refuse);
        assert_eq!(
            error.to_string(),
            "restore source: generator: the checkpoint goes on with elements 5 to 11, this job has 10"
        );
    }
}
