//! What the harness prints: one row a workload, as a table for people or as one JSON object a line.

use serde::Serialize;

/// Which direction of the figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// A rate.
    Higher,
    /// A time or a size.
    Lower,
}

/// The outcome of one workload.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The workload.
    pub name: String,
    /// Median of the engine's figures.
    pub engine: Option<f64>,
    /// Median of the hand-written loop's figures; none for absolute rows.
    pub limit: Option<f64>,
    /// Unit of both.
    pub unit: &'static str,
    /// Engine / limit.
    pub ratio: Option<f64>,
    /// Which direction of the figure, and so of the ratio, is good.
    pub better: Better,
    /// Least and greatest of what the medians stand for: the ratio of each round, or the figure of an absolute row.
    pub spread: [f64; 2],
    /// Median spin round trip between the two threads' processors, for workloads of two threads.
    pub round_trip_ns: Option<f64>,
}

impl Row {
    /// The row as one line of JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers and fixed names can be written")
    }

    /// The row as a line under [`HEADER`].
    pub fn line(&self) -> String {
        let number = |n: Option<f64>| n.map_or_else(|| "-".into(), short);
        format!(
            "{:<24} {:>9} {:>9} {:<5} {:>7} {:>7} .. {:<7} {:>8}",
            self.name,
            number(self.engine),
            number(self.limit),
            self.unit,
            number(self.ratio),
            short(self.spread[0]),
            short(self.spread[1]),
            self.round_trip_ns.map_or_else(|| "-".into(), |ns| format!("{ns:.0} ns")),
        )
    }
}

/// The table's head.
pub const HEADER: &str =
    "workload                    engine     limit unit    ratio  spread of rounds    round trip";

/// Three significant digits are what such figures are good for.
fn short(n: f64) -> String {
    match n.abs() {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        _ => format!("{n:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_fields_that_readers_of_the_output_rely_on() {
        let row = Row {
            name: "exchange".into(),
            engine: Some(90.0),
            limit: Some(100.0),
            unit: "M/s",
            ratio: Some(0.9),
            better: Better::Higher,
            spread: [0.8, 1.0],
            round_trip_ns: None,
        };
        let want = r#"{"name":"exchange","engine":90.0,"limit":100.0,"unit":"M/s","ratio":0.9,"better":"higher","spread":[0.8,1.0],"round_trip_ns":null}"#;
        assert_eq!(row.json(), want);
    }
}
