//! A workload: what is run, by which two sides, in which unit.

use crate::catalogue::ALL;
use crate::report::Better;

/// One side of a workload, from nothing to the figure.
pub type Run = fn() -> Result<Outcome, String>;

/// What one side reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In the workload's unit.
    pub figure: f64,
    /// What was computed; must be the same on both sides.
    pub result: Vec<(&'static str, u64)>,
}

impl Outcome {
    /// A rate, in millions of records per second.
    pub fn rate(records: u64, seconds: f64, result: Vec<(&'static str, u64)>) -> Self {
        Self { figure: records as f64 / seconds / 1e6, result }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// As given on the command line.
    pub name: &'static str,
    /// Unit of the figures.
    pub unit: &'static str,
    /// Which direction is good.
    pub better: Better,
    /// Threads that exchange records.
    pub threads: usize,
    /// The engine, through its public interface, in its default configuration.
    pub engine: Option<Run>,
    /// The hand-written side, or another run of the engine; none for absolute rows.
    pub limit: Option<Run>,
    /// Whether it takes minutes and has a figure that is no time: it is then run only where its whole name is given, in one
    /// round.
    pub long: bool,
}

/// The workloads that `names` mean: each name one workload or the group before a slash; all of them where there is no
/// name. A long one has to be named in full.
///
/// # Errors
/// A name that means none.
pub fn select(names: &[String]) -> Result<Vec<&'static Workload>, String> {
    let means = |name: &str, of: &Workload| {
        of.name == name || of.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
    };
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|of| means(name, of))) {
        let known: Vec<_> = ALL.iter().map(|of| of.name).collect();
        return Err(format!("no workload is named {unknown:?}; there are {}", known.join(", ")));
    }
    let asked =
        |of: &Workload| names.iter().any(|name| if of.long { name == of.name } else { means(name, of) });
    Ok(ALL.iter().filter(|of| asked(of) || names.is_empty() && !of.long).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<&'static str> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        select(&names).unwrap().iter().map(|of| of.name).collect()
    }

    #[test]
    fn a_name_means_a_workload_or_a_group() {
        assert_eq!(names(&["chain"]), ["chain"]);
        assert!(names(&["keyed-sum"]).starts_with(&["keyed-sum/1k", "keyed-sum/1m", "keyed-sum/10m"]));
        assert_eq!(
            names(&["keyed-sum/1m"]),
            ["keyed-sum/1m", "keyed-sum/1m/ckpt-1s", "keyed-sum/1m/ckpt-100ms"]
        );
        assert!(select(&["chai".into()]).unwrap_err().contains("chain, exchange"));
    }

    #[test]
    fn what_takes_minutes_is_run_by_its_whole_name_only() {
        let long: Vec<_> = ALL.iter().filter(|of| of.long).map(|of| of.name).collect();
        assert_eq!(long, ["state/storage-after-1000"]);
        assert_eq!(names(&[]).len(), ALL.len() - long.len());
        assert!(!names(&["state"]).contains(&long[0]));
        assert_eq!(names(&[long[0]]), long);
    }

    #[test]
    fn no_name_means_two_workloads() {
        let mut all: Vec<_> = ALL.iter().map(|of| of.name).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ALL.len());
    }
}
