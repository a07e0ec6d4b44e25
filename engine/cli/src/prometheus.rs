//! Figures in the text format of Prometheus, version 0.0.4. Pure.
//!
//! Names keep Flink's words, behind `millstream_job_` or `millstream_task_`; labels say which job, task and subtask. A
//! figure that has nothing to say is left out, one that is a text is a label with the value 1.

use crate::control::report::{Figure, Figures};
use serde_json::Value;
use std::fmt::Write;

/// All figures, each name with its help and type before its values.
pub fn text(figures: &Figures) -> String {
    let mut text = String::new();
    let mut last = None;
    for figure in &figures.figures {
        let Some((value, told)) = sample(&figure.value) else { continue };
        let name = name(figure);
        if last.as_ref() != Some(&name) {
            let _ = writeln!(text, "# HELP {name} {}", escaped(&figure.help, false));
            let _ = writeln!(text, "# TYPE {name} {}", figure.kind);
        }
        let subtask = figure.subtask.map(|subtask| subtask.to_string());
        let labels = [
            ("job_id", Some(figures.job_id.as_str())),
            ("job_name", Some(figures.name.as_str())),
            ("task_name", figure.task.as_deref()),
            ("subtask_index", subtask.as_deref()),
            ("text", told),
        ];
        let labels: Vec<String> = labels
            .into_iter()
            .filter_map(|(label, value)| Some(format!("{label}=\"{}\"", escaped(value?, true))))
            .collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
        last = Some(name);
    }
    text
}

/// The value, and the text that is a label.
fn sample(value: &Value) -> Option<(u64, Option<&str>)> {
    match value {
        Value::String(text) => Some((1, Some(text))),
        other => other.as_u64().map(|n| (n, None)),
    }
}

fn name(figure: &Figure) -> String {
    let scope = if figure.task.is_some() { "task" } else { "job" };
    format!("millstream_{scope}_{}", figure.name)
}

/// Backslashes and line breaks, and quotes in labels.
fn escaped(text: &str, label: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if label { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, subtask: Option<u64>, value: impl Into<Value>) -> Figure {
        Figure {
            name: name.to_owned(),
            help: "back\\slash\nand break".to_owned(),
            kind: "gauge".to_owned(),
            task: subtask.map(|_| "a \"b\" -> c\\d".to_owned()),
            subtask,
            value: value.into(),
        }
    }

    fn figures(figures: Vec<Figure>) -> Figures {
        Figures {
            job_id: "0f".to_owned(),
            name: "two\nlines".to_owned(),
            state: "RUNNING".to_owned(),
            figures,
        }
    }

    /// By the rules of the format: help and type once before all values of a name, escapes, nothing without a value.
    #[test]
    fn met_01_the_text_format_of_prometheus() {
        let all = figures(vec![
            figure("uptime", None, 7),
            figure("nothing", None, Value::Null),
            figure("path", None, "/ck/\"1\""),
            figure("busy", Some(0), 1),
            figure("busy", Some(1), u64::MAX),
        ]);
        let job = r#"job_id="0f",job_name="two\nlines""#;
        let task = r#"task_name="a \"b\" -> c\\d""#;
        let help = r"back\\slash\nand break";
        let expected = format!(
            "# HELP millstream_job_uptime {help}\n# TYPE millstream_job_uptime gauge\nmillstream_job_uptime{{{job}}} 7\n\
             # HELP millstream_job_path {help}\n# TYPE millstream_job_path gauge\n\
             millstream_job_path{{{job},text=\"/ck/\\\"1\\\"\"}} 1\n\
             # HELP millstream_task_busy {help}\n# TYPE millstream_task_busy gauge\n\
             millstream_task_busy{{{job},{task},subtask_index=\"0\"}} 1\n\
             millstream_task_busy{{{job},{task},subtask_index=\"1\"}} 18446744073709551615\n"
        );
        assert_eq!(text(&all), expected);
        assert_eq!(text(&figures(vec![])), "");
    }
}
