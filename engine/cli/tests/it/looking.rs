//! Checkpoints in detail and together, and figures: REST-01, CF-02 and MET-01 at the command line.

use crate::support::{Place, send};
use serde_json::Value;
use std::process::Child;

/// A job that does not end by itself, with one checkpoint that was asked for.
fn with_one_checkpoint(options: &str) -> (Place, Child) {
    let place = Place::new();
    place.write("in", "a,1\nb,2\n");
    let every_hour = "-D execution.checkpointing.interval=1h";
    let child =
        place.start(&format!("run -p 2 {every_hour} {options} running --follow --input in --output out"));
    place.job(|job| job["state"] == "RUNNING");
    place.run("checkpoint running").ends_well();
    (place, child)
}

fn json(place: &Place, verb: &str) -> Value {
    serde_json::from_str(&place.run(verb).ends_well().stdout).unwrap()
}

fn end(child: Child) {
    send(&child, "KILL");
    child.wait_with_output().unwrap();
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn rest_01_a_checkpoint_in_detail_adds_up() {
    let (place, child) = with_one_checkpoint("");
    let details = json(&place, "checkpoints running --id 1 --json");
    let listed = json(&place, "checkpoints running --json");
    assert_eq!(details["checkpoint"], listed["history"][0]);
    assert_eq!((&details["discarded"], &details["failed_subtask"]), (&false.into(), &Value::Null));
    let tasks = details["tasks"].as_array().unwrap();
    assert!(tasks.len() > 1 && tasks.iter().all(|task| !task["operators"].as_array().unwrap().is_empty()));
    let parts: Vec<&Value> = tasks.iter().flat_map(|task| task["parts"].as_array().unwrap()).collect();
    assert!(parts.iter().all(|part| part["status"] == "COMPLETED"));
    assert_eq!(parts.len() as u64, number(&details["acknowledged"]));
    for bytes in ["checkpointed_bytes", "full_bytes"] {
        let sum: u64 = parts.iter().map(|part| number(&part["measured"][bytes])).sum();
        assert!(sum > 0 && sum == number(&details["checkpoint"][bytes]), "{bytes}");
    }
    for ms in ["sync_ms", "async_ms", "alignment_ms", "start_delay_ms"] {
        let longest = parts.iter().map(|part| number(&part["measured"][ms])).max();
        assert_eq!(longest, Some(number(&details["measured"][ms])), "{ms}");
    }
    let last = parts.iter().map(|part| number(&part["duration_ms"])).max();
    assert_eq!(last, Some(number(&details["checkpoint"]["duration_ms"])));
    let shown = place.run("checkpoints running --id 1").ends_well().stdout;
    assert_eq!(shown.lines().filter(|line| line.contains("after ")).count(), parts.len(), "{shown}");
    let ran = place.run("checkpoints running --id 99");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("checkpoint 99") && ran.stderr.contains("web.checkpoints.history"),
        "{}",
        ran.stderr
    );
    end(child);
}

/// Also the settings in force: a pause leaves one at a time (CP-05, CF-02).
#[test]
fn rest_01_checkpoints_together_and_the_settings_in_force() {
    let pause =
        "-D execution.checkpointing.min-pause=500ms -D execution.checkpointing.max-concurrent-checkpoints=2";
    let (place, child) = with_one_checkpoint(pause);
    let overview = json(&place, "checkpoints running --summary --json");
    let listed = json(&place, "checkpoints running --json");
    assert_eq!(overview["counts"], listed["counts"]);
    assert_eq!(overview["latest"]["completed"], listed["history"][0]);
    assert_eq!(
        (&overview["latest"]["failed"], &overview["latest"]["restored"]),
        (&Value::Null, &Value::Null)
    );
    let bytes = &overview["summary"]["checkpointed_bytes"];
    for figure in ["min", "avg", "max", "p50", "p90", "p95", "p99", "p999"] {
        assert_eq!(bytes[figure], listed["history"][0]["checkpointed_bytes"], "{figure}: there is one");
    }
    let config = &overview["config"];
    assert_eq!(config["execution.checkpointing.max-concurrent-checkpoints"], "1");
    assert_eq!(config["execution.checkpointing.interval"], "1h");
    assert_eq!(config["execution.checkpointing.mode"], "EXACTLY_ONCE");
    assert_eq!(overview["doctor"], Value::Array(vec![]));
    let shown = place.run("checkpoints running --summary").ends_well().stdout;
    assert!(shown.starts_with("1 triggered, 0 in progress, 1 completed, 0 failed, 0 restored\n"), "{shown}");
    end(child);
}

#[test]
fn met_01_figures_as_table_json_and_for_prometheus() {
    let (place, child) = with_one_checkpoint("");
    let figures = json(&place, "metrics running --json");
    let of = |name: &str| {
        let its = figures["figures"].as_array().unwrap().iter().filter(|figure| figure["name"] == name);
        its.cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("numberOfCompletedCheckpoints")[0]["value"], 1);
    assert_eq!(of("lastCheckpointRestoreTimestamp")[0]["value"], Value::Null);
    let idle = of("idleTimeMsPerSecond");
    assert!(idle.len() > 2 && idle.iter().all(|figure| number(&figure["value"]) <= 1000), "{idle:?}");
    assert!(idle.iter().any(|figure| figure["subtask"] == 1 && figure["task"].is_string()));
    let shown = place.run("metrics running").ends_well().stdout;
    assert!(shown.lines().any(|line| line.starts_with("numRestarts ")), "{shown}");
    let text = place.run("metrics running --prometheus").ends_well().stdout;
    assert!(text.contains("# TYPE millstream_job_numberOfCompletedCheckpoints counter\n"), "{text}");
    let sample =
        text.lines().find(|line| line.starts_with("millstream_job_numberOfCompletedCheckpoints{")).unwrap();
    assert!(sample.contains("job_name=\"running\"") && sample.ends_with("} 1"), "{sample}");
    assert!(!text.contains("lastCheckpointRestoreTimestamp"), "it has nothing to say");
    assert!(place.run("metrics running --prometheus --json").code == Some(2));
    end(child);
}
