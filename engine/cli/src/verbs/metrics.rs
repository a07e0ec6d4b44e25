//! `metrics`: the figures of a job and its subtasks.

use super::{print, print_json, unexpected};
use crate::args::Metrics;
use crate::control::protocol::{Reply, Request};
use crate::control::report::{Figure, Figures};
use crate::control::{ask, find};
use crate::failure::Failure;
use crate::home::Home;
use crate::table::table;
use serde_json::Value;

/// `metrics`.
///
/// # Errors
/// The job cannot be found or asked.
pub fn metrics(home: &Home, options: &Metrics) -> Result<(), Failure> {
    let job = find(home, &options.job)?;
    let figures = match ask(&job, "show metrics", &Request::Metrics)? {
        Reply::Figures(figures) => figures,
        other => return Err(unexpected(&job, &other)),
    };
    #[cfg(feature = "prometheus")]
    if options.prometheus {
        return print(&crate::prometheus::text(&figures));
    }
    if options.json { print_json(&figures) } else { print(&figures_table(&figures)) }
}

fn figures_table(figures: &Figures) -> String {
    let row = |figure: &Figure| {
        let value = match &figure.value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let subtask = figure.subtask.map(|subtask| subtask.to_string());
        let of_job = || "-".to_owned();
        vec![
            figure.name.clone(),
            figure.task.clone().unwrap_or_else(of_job),
            subtask.unwrap_or_else(of_job),
            value,
        ]
    };
    table(&["NAME", "TASK", "SUBTASK", "VALUE"], &figures.figures.iter().map(row).collect::<Vec<_>>())
}
