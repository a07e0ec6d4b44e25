//! Looking at running jobs and steering them.

use crate::support::{Place, Ran, send};
use serde_json::Value;
use std::fs;
use std::process::Child;

const CHECKPOINTS: &str = "-D execution.checkpointing.interval=20ms";

/// A job that does not end by itself.
fn endless(options: &str) -> String {
    format!("run {options} --summary summary.json running --follow --input in --output out")
}

fn place() -> Place {
    let place = Place::new();
    place.write("in", "a,1\nb,2\n");
    place
}

fn checkpointed(job: &Value) -> bool {
    job["state"] == "RUNNING" && !job["last_checkpoint"].is_null()
}

#[test]
fn ms_074_a_second_start_is_refused_naming_the_holder_and_a_killed_one_is_in_nobodys_way() {
    for options in ["", CHECKPOINTS] {
        let place = place();
        let mut first = place.start(&endless(options));
        let job = place.job(|job| job["state"] == "RUNNING");
        assert_eq!(job["pid"], first.id());
        let error = place.run(&endless(options)).refused();
        assert!(error.contains(&first.id().to_string()), "{error}");
        send(&first, "KILL");
        // At once: the killed process may still hold its locks.
        let third = place.start(&endless(options));
        place.job(|job| job["pid"] == third.id() && job["state"] == "RUNNING");
        first.wait().unwrap();
        send(&third, "TERM");
        Ran::of(third.wait_with_output().unwrap()).ends_well();
    }
}

#[test]
fn running_jobs_are_listed_by_the_contracts_fields() {
    let place = place();
    assert_eq!(place.run("list --json").ends_well().stdout, "[]\n");
    let child = place.start(&endless(&format!("-p 2 --name mine {CHECKPOINTS}")));
    let job = place.job(checkpointed);
    assert_eq!((&job["name"], &job["parallelism"]), (&"mine".into(), &2.into()));
    let last = &job["last_checkpoint"];
    let path = last["path"].as_str().unwrap();
    assert!(path.ends_with(&format!("{}/chk-{}", job["job_id"].as_str().unwrap(), last["id"])), "{path}");
    assert!(last["completed_ms"].as_u64() >= job["start_ms"].as_u64());
    let shown = place.run("list").ends_well().stdout;
    assert!(shown.contains("mine") && shown.contains("RUNNING"), "{shown}");
    send(&child, "TERM");
    child.wait_with_output().unwrap();
}

#[test]
fn a_checkpoint_is_taken_when_asked_for_and_found_in_the_history() {
    let place = place();
    // So rare that every checkpoint is one that was asked for.
    let child = place.start(&endless("-D execution.checkpointing.interval=1h"));
    let job = place.job(|job| job["state"] == "RUNNING");
    let id = job["job_id"].as_str().unwrap();
    let path = place.run("checkpoint running").ends_well().stdout;
    assert!(fs::metadata(format!("{}/_metadata", path.trim())).is_ok(), "{path}");
    let full = place.run(&format!("checkpoint --full {}", &id[..8])).ends_well().stdout;
    let history: Value =
        serde_json::from_str(&place.run("checkpoints running --json").ends_well().stdout).unwrap();
    assert_eq!(history["job_id"], id);
    assert_eq!((&history["counts"]["completed"], &history["restored"]), (&2.into(), &Value::Null));
    let entries = history["history"].as_array().unwrap();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["FULL_CHECKPOINT", "CHECKPOINT"]);
    assert_eq!(entries[0]["path"].as_str().unwrap(), full.trim());
    assert!(entries.iter().all(|entry| entry["status"] == "COMPLETED" && entry["failure"].is_null()));
    assert!(place.run(&format!("checkpoints {id}")).ends_well().stdout.contains("FULL_CHECKPOINT"));
    send(&child, "TERM");
    child.wait_with_output().unwrap();
}

/// A checkpoint has one path, wherever it is told of, and however its directory was given.
#[test]
fn a_checkpoint_in_a_relative_directory_is_shown_with_one_absolute_path() {
    let place = place();
    fs::create_dir(place.path("disk")).unwrap();
    std::os::unix::fs::symlink("disk", place.path("link")).unwrap();
    let options = "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=link/ck";
    let child = place.start(&endless(options));
    place.job(|job| job["state"] == "RUNNING");
    let taken = place.run("checkpoint running").ends_well().stdout;
    let listed = place.job(checkpointed);
    let shown = place.run("checkpoints running --json").ends_well().stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let disk = fs::canonicalize(place.path("disk")).unwrap();
    let path = disk.join("ck").join(listed["job_id"].as_str().unwrap()).join("chk-1");
    let told = [taken.trim(), listed["last_checkpoint"]["path"].as_str().unwrap()];
    assert_eq!([path.to_str().unwrap(); 2], told);
    assert_eq!(shown["history"][0]["path"].as_str(), path.to_str());
    send(&child, "TERM");
    child.wait_with_output().unwrap();
}

#[test]
fn without_an_interval_a_checkpoint_is_refused_naming_the_key() {
    let place = place();
    let child = place.start(&endless(""));
    place.job(|job| job["state"] == "RUNNING");
    let ran = place.run("checkpoint running");
    assert_eq!(ran.code, Some(1));
    let named = ran.stderr.matches("execution.checkpointing.interval").count();
    assert_eq!((named, ran.stderr.contains("hint: ")), (1, true), "said once: {}", ran.stderr);
    send(&child, "KILL");
    child.wait_with_output().unwrap();
}

#[test]
fn stop_prints_the_path_of_the_final_checkpoint_and_the_next_start_resumes_from_it() {
    let place = place();
    let child = place.start(&endless(CHECKPOINTS));
    place.job(checkpointed);
    let path = place.run("stop running").ends_well().stdout;
    let path = path.trim();
    assert!(fs::metadata(format!("{path}/_metadata")).is_ok(), "{path}");
    Ran::of(child.wait_with_output().unwrap()).ends_well();
    let summary = place.summary();
    assert_eq!(
        (summary["state"].as_str(), summary["last_checkpoint"].as_str()),
        (Some("STOPPED"), Some(path))
    );
    assert_eq!(place.sorted("out"), ["a,1", "b,2"]);

    place.write("in", "a,1\nb,2\na,3\n");
    let child = place.start(&endless(CHECKPOINTS));
    place.job(checkpointed);
    place.run("stop running").ends_well();
    let ran = Ran::of(child.wait_with_output().unwrap()).ends_well();
    assert!(ran.stderr.contains(&format!("resuming from {path}")), "{}", ran.stderr);
    assert_eq!(place.summary()["restored_from"], path);
    // Ruling 3: that checkpoint stays, whatever later runs do; when the one of the last stop is gone the start is refused.
    assert!(fs::metadata(format!("{path}/_metadata")).is_ok(), "{path}");
    let last = place.summary()["last_checkpoint"].as_str().unwrap().to_owned();
    fs::remove_dir_all(&last).unwrap();
    let refused = place.run(&endless(CHECKPOINTS)).refused();
    assert!(
        refused.contains(&last) && refused.contains("hint: ") && refused.contains("--fresh"),
        "{refused}"
    );
}

/// What a job began with is shown where it is, also when that is not among the job's own checkpoints.
#[test]
fn a_checkpoint_from_elsewhere_is_shown_with_its_path() {
    let place = place();
    let child = place.start(&endless(CHECKPOINTS));
    place.job(checkpointed);
    let path = place.run("stop running").ends_well().stdout;
    child.wait_with_output().unwrap();
    let elsewhere = place.path("saved");
    fs::rename(path.trim(), &elsewhere).unwrap();
    let options = format!("{CHECKPOINTS} -s {}", elsewhere.display());
    let child = place.start(&endless(&options));
    place.job(checkpointed);
    let shown = place.run("checkpoints running --json").ends_well().stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["restored"]["path"], fs::canonicalize(&elsewhere).unwrap().to_str().unwrap());
    send(&child, "TERM");
    child.wait_with_output().unwrap();
}

/// Without checkpoints nobody can make up for an end that fails: to start again would write everything once more.
#[test]
fn the_hint_of_an_end_that_fails_tells_to_start_again_only_where_that_repeats_nothing() {
    for (options, again) in [("", false), (CHECKPOINTS, true)] {
        let place = place();
        let ran = place.run(&format!("run {options} --summary /dev/full pass --input in --output out"));
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let hint = ran.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
        assert_eq!(hint.contains("start it again"), again, "{hint}");
        assert_eq!(hint.contains("do not start the job again"), !again, "{hint}");
        assert_eq!(place.sorted("out"), ["a,1", "b,2"]);
    }
}

#[test]
fn cancel_ends_with_code_0_and_state_canceled() {
    let place = place();
    let child = place.start(&endless(CHECKPOINTS));
    place.job(checkpointed);
    let ran = place.run("cancel running").ends_well();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    Ran::of(child.wait_with_output().unwrap()).ends_well();
    assert_eq!(place.summary()["state"], "CANCELED");
    assert_eq!(place.run("list --json").ends_well().stdout, "[]\n");
}

/// MS-077: a job that does not end in time is left, whoever asked for its end, and so are those who wait for it.
/// Ruling 5: what a cancelled job has written and not committed goes with it, or, if it is killed in that, with the next run;
/// nothing else goes, of other jobs or of other lines.
#[test]
fn ruling_05_what_a_cancelled_job_has_not_committed_goes() {
    for options in ["", CHECKPOINTS] {
        let place = place();
        let id = millstream::JobId::of("running").to_string();
        let left = |owner: &str| place.write(&format!("out/.part-0-90.csv.{owner}.uncommitted"), "left");
        let line = |n: u32| if options.is_empty() { format!("{id}.once") } else { format!("{id}.{n}") };
        let start = || {
            let child = place.start(&endless(options));
            place.job(|job| job["state"] == "RUNNING" && job["pid"] == child.id());
            child
        };
        let cancel = |child: Child| {
            place.run("cancel running").ends_well();
            Ran::of(child.wait_with_output().unwrap()).ends_well();
        };
        let child = start();
        let own = left(&line(1));
        cancel(child);
        assert!(!own.exists(), "{options}");
        // As if it had been killed in that; the next run is another line.
        left(&line(1));
        let others = [left(&format!("{id}.9")), left("0123456789abcdef0123456789abcdef.1")];
        let child = start();
        assert!(!own.exists(), "{options}");
        cancel(child);
        assert!(others.iter().all(|other| other.exists()), "{options}");
    }
}

#[test]
fn ms_077_a_stop_and_a_cancel_of_a_job_that_is_stuck_end_when_the_grace_is_over() {
    for verb in ["stop", "cancel"] {
        let place = place();
        let child =
            place.start(&endless(&format!("--grace 100ms {CHECKPOINTS}")).replace("--follow", "--delay 1h"));
        place.job(|job| job["state"] == "RUNNING");
        let asked = place.run(&format!("{verb} running"));
        assert_eq!((asked.code, asked.stdout.as_str()), (Some(1), ""));
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        for said in [asked.stderr, ran.stderr] {
            assert!(said.contains(&format!("error: {verb}: job: not done within 100ms")), "{said}");
        }
        assert_eq!(place.summary()["state"], "FAILED");
    }
}

#[test]
fn a_job_that_does_not_run_is_not_found() {
    let ran = Place::new().run("cancel nothing");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.starts_with("error: find job: nothing: "), "{}", ran.stderr);
}

#[test]
fn a_detached_run_prints_its_id_and_goes_on() {
    let place = place();
    let ran = place.run(&endless(&format!("--detached {CHECKPOINTS}"))).ends_well();
    let job = place.job(checkpointed);
    assert_eq!(ran.stdout.trim(), job["job_id"].as_str().unwrap());
    place.run("stop running").ends_well();
    assert_eq!(place.sorted("out"), ["a,1", "b,2"]);
    // A refusal comes back to the caller.
    place.run("run --detached running --input none --output out").refused();
}
