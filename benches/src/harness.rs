//! Runs both sides of a workload in alternation and makes a row of it.

use crate::pin;
use crate::report::Row;
use crate::workload::{Run, Workload};

/// Which sides to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// The engine and its limit.
    Both,
    /// The hand-written side alone.
    Limit,
}

/// Measures `workload` over `rounds` rounds. In every other round the limit goes first, so that neither side always
/// finds the machine as the other left it; one round before them warms both up and is not counted. A long workload has
/// one round and no other.
///
/// # Errors
/// What a side reported, or that their results differ.
pub fn measure(workload: &Workload, rounds: usize, sides: Sides) -> Result<Row, String> {
    let engine = workload.engine.filter(|_| sides == Sides::Both);
    let mut figures = Figures::default();
    let rounds = if workload.long { 1..2 } else { 0..rounds + 1 };
    for round in rounds {
        if workload.threads > 1 {
            figures.round_trips.push(pin::round_trip_ns());
        }
        let (mut of_engine, mut of_limit) = (None, None);
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                of_engine = outcome(engine, workload.name, "the engine")?;
            } else {
                of_limit = outcome(workload.limit, workload.name, "the limit")?;
            }
        }
        if let (Some(engine), Some(limit)) = (&of_engine, &of_limit)
            && engine.result != limit.result
        {
            return Err(format!(
                "{}: results differ: engine {:?}, limit {:?}",
                workload.name, engine.result, limit.result
            ));
        }
        if round > 0 {
            figures.engine.extend(of_engine.map(|outcome| outcome.figure));
            figures.limit.extend(of_limit.map(|outcome| outcome.figure));
        }
    }
    Ok(figures.row(workload))
}

fn outcome(side: Option<Run>, workload: &str, who: &str) -> Result<Option<crate::workload::Outcome>, String> {
    side.map(|run| run().map_err(|error| format!("{workload}: {who}: {error}"))).transpose()
}

#[derive(Default)]
struct Figures {
    engine: Vec<f64>,
    limit: Vec<f64>,
    round_trips: Vec<f64>,
}

impl Figures {
    fn row(self, workload: &Workload) -> Row {
        let ratios: Vec<f64> = self.engine.iter().zip(&self.limit).map(|(e, l)| e / l).collect();
        let spread_of = [&ratios, &self.engine, &self.limit].into_iter().find(|figures| !figures.is_empty());
        let (engine, limit) = (median(&self.engine), median(&self.limit));
        Row {
            name: workload.name.into(),
            engine,
            limit,
            unit: workload.unit,
            ratio: engine.zip(limit).map(|(engine, limit)| engine / limit),
            better: workload.better,
            spread: spread_of.map_or([0.0, 0.0], |figures| range(figures)),
            round_trip_ns: median(&self.round_trips),
        }
    }
}

fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

fn range(figures: &[f64]) -> [f64; 2] {
    figures.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], n| [low.min(*n), high.max(*n)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Better;
    use crate::workload::Outcome;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    fn side(figure: f64, sum: u64) -> Result<Outcome, String> {
        Ok(Outcome { figure, result: vec![("sum", sum)] })
    }

    fn workload(engine: Run, limit: Option<Run>) -> Workload {
        Workload {
            name: "w",
            unit: "M/s",
            better: Better::Higher,
            threads: 1,
            engine: Some(engine),
            limit,
            long: false,
        }
    }

    #[test]
    fn a_row_holds_medians_and_their_ratio() {
        let row = measure(&workload(|| side(3.0, 1), Some(|| side(4.0, 1))), 5, Sides::Both).unwrap();
        assert_eq!((row.engine, row.limit, row.ratio), (Some(3.0), Some(4.0), Some(0.75)));
        assert_eq!((row.spread, row.round_trip_ns), ([0.75, 0.75], None));
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (Some(2.0), Some(2.5)));
    }

    #[test]
    fn an_absolute_row_has_no_limit_and_no_ratio() {
        let row = measure(&workload(|| side(3.0, 1), None), 2, Sides::Both).unwrap();
        assert_eq!((row.engine, row.limit, row.ratio, row.spread), (Some(3.0), None, None, [3.0, 3.0]));
    }

    #[test]
    fn a_long_workload_is_run_once() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let once = || side(RUNS.fetch_add(1, Relaxed) as f64, 1);
        let row = measure(&Workload { long: true, ..workload(once, None) }, 5, Sides::Both).unwrap();
        assert_eq!((RUNS.load(Relaxed), row.engine), (1, Some(0.0)));
    }

    #[test]
    fn results_that_differ_are_an_error() {
        let error = measure(&workload(|| side(9.0, 1), Some(|| side(4.0, 2))), 5, Sides::Both).unwrap_err();
        assert!(error.contains("results differ"), "{error}");
    }
}
