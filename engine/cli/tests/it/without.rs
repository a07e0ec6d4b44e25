//! Runs without checkpoints of their own, where an earlier run has left some.

use crate::support::{Place, Ran, send};
use serde_json::Value;

const WITH: &str =
    "run -D execution.checkpointing.interval=20ms --summary summary.json running --input in --output out";
const WITHOUT: &str = "run --summary summary.json running --input in --output out";

fn checkpointed(job: &Value) -> bool {
    job["state"] == "RUNNING" && !job["last_checkpoint"].is_null()
}

/// Records of the input.
const RECORDS: u64 = 2000;

/// `key,sum so far` for `key,n`, as the job is to write it.
fn expected() -> Vec<String> {
    let mut sums = [0; 7];
    let mut lines: Vec<String> = (0..RECORDS)
        .map(|n| {
            let key = (n % 7) as usize;
            sums[key] += n;
            format!("k{key},{}", sums[key])
        })
        .collect();
    lines.sort();
    lines
}

/// A job that was suspended in the middle of its input, and its final checkpoint.
fn suspended() -> (Place, String) {
    let place = Place::new();
    place.write("in", (0..RECORDS).map(|n| format!("k{},{n}\n", n % 7)).collect::<String>());
    let child = place.start(&format!("{WITH} --delay 2ms"));
    place.job(checkpointed);
    send(&child, "TERM");
    Ran::of(child.wait_with_output().unwrap()).ends_well();
    let last = place.summary()["last_checkpoint"].as_str().unwrap().to_owned();
    let read = place.summary()["records_in"].as_u64().unwrap();
    assert!(0 < read && read < RECORDS, "{read}");
    (place, last)
}

/// MS-020, CL-01: what completed checkpoints there are is what a start goes on from, whether or not it takes some itself.
#[test]
fn ms_020_a_run_without_checkpoints_goes_on_from_those_that_are_there() {
    let (place, last) = suspended();
    let ran = place.run(WITHOUT).ends_well();
    assert!(ran.stderr.contains(&format!("resuming from {last}\n")), "{}", ran.stderr);
    assert!(ran.stderr.contains("execution.checkpointing.interval is not set"), "{}", ran.stderr);
    assert_eq!(place.sorted("out"), expected());
    let summary = place.summary();
    assert_eq!((&summary["state"], &summary["restored_from"]), (&"FINISHED".into(), &last.into()));
    assert_eq!((&summary["records_in"], &summary["records_out"]), (&RECORDS.into(), &RECORDS.into()));
    // That was the end of it.
    let again = place.run(WITHOUT).ends_well();
    assert!(again.stderr.contains("starting without state"), "{}", again.stderr);
    assert!(!again.stderr.contains("warning"), "{}", again.stderr);
}

/// Killed or suspended, it has committed nothing, and the next start goes on where it did.
#[test]
fn ruling_07_such_a_run_commits_at_its_end_alone() {
    for signal in ["KILL", "TERM"] {
        let (place, last) = suspended();
        let committed = place.sorted("out");
        let child = place.start(&format!("{WITHOUT} --delay 2ms"));
        place.job(|job| job["state"] == "RUNNING");
        send(&child, signal);
        let ran = Ran::of(child.wait_with_output().unwrap());
        if signal == "TERM" {
            assert!(ran.ends_well().stderr.contains("nothing was committed"));
        }
        assert_eq!(place.sorted("out"), committed, "{signal}");
        let ran = place.run(WITH).ends_well();
        assert!(ran.stderr.contains(&format!("resuming from {last}\n")), "{signal}: {}", ran.stderr);
        assert_eq!(place.sorted("out"), expected(), "{signal}");
    }
}

/// It belongs to the line of those checkpoints and ends with one: whatever becomes of it behind its commits, the next
/// start has nothing left to do but to say so.
#[test]
fn ruling_07_such_a_run_repeats_nothing_when_its_end_fails() {
    for named in [false, true] {
        let (place, last) = suspended();
        let run =
            if named { WITHOUT.replace("run ", &format!("run -s {last} ")) } else { WITHOUT.to_owned() };
        let ran = place.run(&run.replace("summary.json", "/dev/full"));
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert_eq!(place.sorted("out"), expected(), "everything is committed");
        let hint = ran.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
        assert!(hint.contains("start it again"), "{hint}");
        place.run(&run).ends_well();
        assert_eq!(place.sorted("out"), expected(), "nothing is repeated");
        let summary = place.summary();
        assert_eq!((&summary["state"], &summary["records_out"]), (&"FINISHED".into(), &RECORDS.into()));
    }
}

/// Without any line there is nothing to go on with, and an end that fails cannot be made up for.
#[test]
fn ruling_07_nobody_is_told_to_start_a_run_without_checkpoints_again_when_its_end_fails() {
    let place = Place::new();
    place.write("in", "a,1\n");
    let ran = place.run(&WITHOUT.replace("summary.json", "/dev/full"));
    assert_eq!((ran.code, place.lines("out")), (Some(1), vec!["a,1".to_owned()]), "{}", ran.stderr);
    let hint = ran.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
    assert!(hint.contains("do not start the job again"), "{hint}");
}

/// Ruling 2: `--fresh` begins a new line also then, and the older one is never chosen again.
#[test]
fn ruling_02_a_fresh_run_without_checkpoints_begins_a_line() {
    let (place, last) = suspended();
    let fresh = WITHOUT.replace("run ", "run --fresh ").replace("--output out", "--output anew");
    place.run(&fresh).ends_well();
    assert_eq!(place.sorted("anew"), expected());
    assert!(std::path::Path::new(&last).join("_metadata").exists(), "nothing old is deleted");
    let plain = place.run(&WITHOUT.replace("--output out", "--output third")).ends_well();
    assert!(plain.stderr.contains("starting without state"), "{}", plain.stderr);
    assert_eq!(place.sorted("third"), expected());
}

/// MS-019: a damaged one is never taken for none.
#[test]
fn ms_019_a_damaged_checkpoint_refuses_a_run_without_checkpoints_too() {
    let (place, last) = suspended();
    std::fs::write(std::path::Path::new(&last).join("_metadata"), "damaged").unwrap();
    let error = place.run(WITHOUT).refused();
    assert!(error.contains(&last), "{error}");
}

/// MS-020: nor does a run begin anew beside them because it keeps its own in memory.
#[test]
fn ms_020_checkpoints_in_files_refuse_a_run_that_keeps_its_own_in_memory() {
    let (place, last) = suspended();
    for run in [WITH, WITHOUT] {
        let run = run.replace("run ", "run -D execution.checkpointing.storage=memory ");
        for run in [run.clone(), run.replace("run ", &format!("run -s {last} "))] {
            let before = place.everything();
            let error = place.run(&run).refused();
            assert!(
                error.contains(&last) && error.contains("execution.checkpointing.storage=filesystem"),
                "{error}"
            );
            assert_eq!(place.everything(), before);
        }
        place.run(&run.replace("run ", "run --fresh ").replace("--output out", "--output anew")).ends_well();
    }
    let mut twice = [expected(), expected()].concat();
    twice.sort();
    assert_eq!(place.sorted("anew"), twice);
    place.run(WITH).ends_well();
    assert_eq!(place.sorted("out"), expected(), "the job goes on from them as before");
}

/// SR-05: the input of a job is what was there when it began. What a start that goes on does not read is named: what was
/// appended, also to a file that is done, and what is new; not what is as it was.
#[test]
fn sr_05_what_a_resumed_job_does_not_read_is_named() {
    let place = Place::new();
    place.write("a", "a\n");
    place.write("b", "b\n");
    place.write("c", "c\n".repeat(5_000));
    let options = "-D execution.checkpointing.interval=20ms pass --input a --input b --input c";
    let child = place.start(&format!("run {options} --output out --delay 2ms"));
    place.job(checkpointed);
    send(&child, "TERM");
    Ran::of(child.wait_with_output().unwrap()).ends_well();
    place.write("a", "a\nmore\n");
    place.write("c", "c\n".repeat(5_001));
    place.write("d", "d\n");
    let ran = place.run(&format!("run {options} --input d --output out")).ends_well();
    let told = ran.stderr.lines().find(|line| line.contains("not read: ")).unwrap_or_default();
    assert!(told.starts_with("warning: ") && told.contains("--fresh"), "{}", ran.stderr);
    for (file, how) in [("a", "the last 5 bytes of "), ("c", "the last 2 bytes of "), ("d", "")] {
        let path = place.path(file).canonicalize().unwrap();
        assert!(told.contains(&format!("{how}{}", path.display())), "{told}");
    }
    assert!(!told.contains("/b"), "{told}");
    assert_eq!(place.lines("out").len(), 5_002);
}

/// MS-021: another job under the same name starts where the old one was; what has no state to go on with is listed.
#[test]
fn ms_021_operators_without_state_are_listed() {
    let place = Place::new();
    place.write("in", "a\n".repeat(5_000));
    let options = "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck --name same";
    let child = place.start(&format!("run {options} pass --input in --output out --delay 2ms"));
    place.job(|job| job["state"] == "RUNNING");
    send(&child, "TERM");
    Ran::of(child.wait_with_output().unwrap()).ends_well();
    let ran = place.run(&format!("run {options} count --input in --output out")).ends_well();
    let told = ran.stderr.lines().find(|line| line.contains("begin without state")).unwrap_or_default();
    assert!(told.starts_with("warning: ") && told.contains("\"count\""), "{}", ran.stderr);
    assert!(!told.contains("\"source\"") && !told.contains("\"sink\""), "{told}");
}

/// A run that has nothing to do with checkpoints leaves nothing of the kind.
#[test]
fn a_run_without_any_checkpoints_makes_no_directory_for_them() {
    let place = Place::new();
    place.write("in", "a,1\n");
    let ran = place.run(WITHOUT).ends_well();
    assert!(ran.stderr.starts_with("starting without state"), "{}", ran.stderr);
    let made = place.everything();
    assert!(!made.iter().any(|path| path.to_string_lossy().contains("checkpoints")), "{made:?}");
}
