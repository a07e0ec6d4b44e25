//! `checkpoints`: the history of a job, one of its checkpoints, or all together.

use super::{print, print_json, unexpected};
use crate::args::Checkpoints;
use crate::control::protocol::{Entry, History, Reply, Request};
use crate::control::report::{Details, Measured, Overview, Spread};
use crate::control::{Running, ask, find};
use crate::failure::Failure;
use crate::home::Home;
use crate::table::{bytes, duration, moment, table};

/// What the request is called where it fails.
const SHOW: &str = "show checkpoints";

/// `checkpoints`.
///
/// # Errors
/// The job cannot be found or asked, or does not remember the checkpoint.
pub fn checkpoints(home: &Home, options: &Checkpoints) -> Result<(), Failure> {
    let job = find(home, &options.job)?;
    if let Some(id) = options.id {
        return match ask(&job, SHOW, &Request::Details { id })? {
            Reply::Details(details) if options.json => print_json(&details),
            Reply::Details(details) => print(&details_text(&details)),
            other => Err(unexpected(&job, &other)),
        };
    }
    if options.summary {
        let overview = overview(&job)?;
        return if options.json { print_json(&overview) } else { print(&overview_text(&overview)) };
    }
    match ask(&job, SHOW, &Request::Checkpoints)? {
        Reply::History(history) if options.json => print_json(&history),
        Reply::History(history) => {
            print(&format!("{}{}", history_table(&history), doctor_lines(&overview(&job)?)))
        }
        other => Err(unexpected(&job, &other)),
    }
}

fn overview(job: &Running) -> Result<Overview, Failure> {
    match ask(job, SHOW, &Request::Overview)? {
        Reply::Overview(overview) => Ok(*overview),
        other => Err(unexpected(job, &other)),
    }
}

/// One line for each thing that is wrong.
fn doctor_lines(overview: &Overview) -> String {
    overview.doctor.iter().map(|advice| format!("doctor: {advice}\n")).collect()
}

fn history_table(history: &History) -> String {
    let row = |entry: &Entry| {
        vec![
            entry.id.to_string(),
            entry.kind.clone(),
            entry.status.clone(),
            moment(entry.trigger_ms),
            duration(entry.duration_ms),
            bytes(entry.checkpointed_bytes),
            bytes(entry.full_bytes),
            duration(entry.alignment_ms),
            yes(entry.unaligned),
            bytes(entry.persisted_bytes),
            entry.failure.clone().or(entry.path.clone()).unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let head = [
        "ID",
        "KIND",
        "STATUS",
        "TRIGGERED (UTC)",
        "DURATION",
        "SIZE",
        "FULL SIZE",
        "ALIGNMENT",
        "UNALIGNED",
        "IN FLIGHT",
        "PATH OR FAILURE",
    ];
    table(&head, &history.history.iter().map(row).collect::<Vec<_>>())
}

/// The checkpoint in words, then a line for each subtask.
fn details_text(details: &Details) -> String {
    let entry = &details.checkpoint;
    let mut text = format!("{} {}: {}", entry.kind, entry.id, entry.status);
    if details.discarded {
        text.push_str(", deleted since");
    }
    text.push_str(&format!(
        "\ntriggered {} (UTC), {} of {} subtasks acknowledged, {}\n",
        moment(entry.trigger_ms),
        details.acknowledged,
        details.subtasks,
        duration(entry.duration_ms)
    ));
    if let Some(path) = &entry.path {
        text.push_str(&format!("path: {path}\n"));
    }
    if let Some(failure) = &entry.failure {
        let whose = details.failed_subtask.as_ref().map_or_else(String::new, |whose| format!(" ({whose})"));
        text.push_str(&format!("failure: {failure}{whose}\n"));
    }
    let head = [
        "TASK",
        "SUBTASK",
        "ACKNOWLEDGED",
        "START DELAY",
        "ALIGNMENT",
        "HELD",
        "SPILLED",
        "PROCESSED",
        "UNALIGNED",
        "PERSISTED",
        "SYNC",
        "ASYNC",
        "SIZE",
        "FULL SIZE",
    ];
    let mut rows = Vec::new();
    for task in &details.tasks {
        for part in &task.parts {
            let acknowledged =
                part.duration_ms.map_or_else(|| "-".to_owned(), |ms| format!("after {}", duration(ms)));
            let mut row = vec![task.name.clone(), part.index.to_string(), acknowledged];
            row.extend(part.measured.as_ref().map_or_else(|| vec!["-".to_owned(); head.len() - 3], cells));
            rows.push(row);
        }
    }
    text + &table(&head, &rows)
}

fn yes(it_is: bool) -> String {
    if it_is { "yes" } else { "no" }.to_owned()
}

fn cells(measured: &Measured) -> Vec<String> {
    vec![
        duration(measured.start_delay_ms),
        duration(measured.alignment_ms),
        bytes(measured.held_bytes),
        bytes(measured.spilled_bytes),
        bytes(measured.processed_bytes),
        yes(measured.unaligned),
        bytes(measured.persisted_bytes),
        duration(measured.sync_ms),
        duration(measured.async_ms),
        bytes(measured.checkpointed_bytes),
        bytes(measured.full_bytes),
    ]
}

fn overview_text(overview: &Overview) -> String {
    let counts = &overview.counts;
    let mut text = format!(
        "{} triggered, {} in progress, {} completed, {} failed, {} restored\n",
        counts.total, counts.in_progress, counts.completed, counts.failed, counts.restored
    );
    let latest = [("completed", &overview.latest.completed), ("failed", &overview.latest.failed)];
    for (kind, entry) in latest.into_iter().filter_map(|(kind, entry)| Some((kind, entry.as_ref()?))) {
        let what = entry.failure.as_ref().or(entry.path.as_ref()).map_or("", String::as_str);
        text.push_str(&format!(
            "latest {kind}: {} at {} (UTC), {what}\n",
            entry.id,
            moment(entry.trigger_ms)
        ));
    }
    if let Some(restored) = &overview.latest.restored {
        text.push_str(&format!(
            "restored: {} at {} (UTC), {}\n",
            restored.id,
            moment(restored.ms),
            restored.path
        ));
    }
    let rows: Vec<Vec<String>> =
        overview.summary.iter().map(|(quantity, spread)| spread_row(quantity, spread)).collect();
    text.push_str(&table(
        &["OF COMPLETED ONES", "MIN", "AVG", "MAX", "P50", "P90", "P95", "P99", "P99.9"],
        &rows,
    ));
    for (key, value) in &overview.config {
        text.push_str(&format!("{key} = {value}\n"));
    }
    text + &doctor_lines(overview)
}

fn spread_row(quantity: &str, spread: &Spread) -> Vec<String> {
    let (name, show): (&str, fn(u64) -> String) = match quantity.rsplit_once('_') {
        Some((name, "ms")) => (name, duration),
        Some((name, _)) => (name, bytes),
        None => (quantity, |n| n.to_string()),
    };
    let values =
        [spread.min, spread.avg, spread.max, spread.p50, spread.p90, spread.p95, spread.p99, spread.p999];
    let shown = values.map(|value| value.map_or_else(|| "-".to_owned(), show));
    std::iter::once(name.replace('_', " ")).chain(shown).collect()
}
