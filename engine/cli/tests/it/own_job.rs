//! A job executable of a user's own, with a one-line `main`.

use crate::support::{Place, Ran, send};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds it, as its user would, in the profile of this test.
fn own_job() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let bin = Path::new(env!("CARGO_BIN_EXE_millstream"));
        let dir = bin.parent().unwrap();
        let profile = match dir.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--package", "own-job", "--profile", profile, "--target-dir"])
            .arg(dir.parent().unwrap());
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success());
        dir.join("own-job")
    })
}

#[test]
fn it_takes_the_same_options_itself_and_through_the_command() {
    let place = Place::new();
    place.write("in", "aa\nb\ncc\n");
    let options = "--summary summary.json -p 2";
    let job = "--input in --least 2";
    let ran =
        Ran::of(place.command_of(own_job(), &format!("run {options} {job} --output out")).output().unwrap());
    assert!(ran.ends_well().stderr.contains("2 lines were long enough"));
    assert_eq!(place.lines("out"), ["2,1", "2,2"]);
    assert_eq!((&place.summary()["job"], &place.summary()["parallelism"]), (&"own-job".into(), &2.into()));

    let path = own_job().display();
    place.run(&format!("run {options} --name renamed {path} {job} --output again")).ends_well();
    assert_eq!(place.lines("again"), ["2,1", "2,2"]);
    assert_eq!(place.summary()["job"], "renamed");
}

/// It has no bundled jobs, and does not say so.
#[test]
fn its_help_speaks_of_its_own_job() {
    let run = |args| Ran::of(Place::new().command_of(own_job(), args).output().unwrap()).ends_well().stdout;
    let help = run("--help");
    let about = help.lines().find_map(|line| line.trim_start().strip_prefix("jobs ")).unwrap();
    assert_eq!(about.trim(), "Print the name of the job that this program runs");
    assert_eq!(run("jobs"), "own-job\n");
}

#[test]
fn every_verb_finds_it_by_name() {
    let place = Place::new();
    place.write("in", "aa\nb\n");
    let path = own_job().display();
    let checkpoints = "-D execution.checkpointing.interval=20ms";
    let child = place.start(&format!("run {checkpoints} {path} --input in --output out --follow"));
    let job = place.job(|job| !job["last_checkpoint"].is_null());
    assert_eq!(job["name"], "own-job");
    // The process that was started is the job itself.
    assert_eq!(job["pid"], child.id());
    let own = Ran::of(place.command_of(own_job(), "checkpoint own-job").output().unwrap());
    assert!(own.ends_well().stdout.contains("/chk-"));
    place.run("stop own-job").ends_well();
    Ran::of(child.wait_with_output().unwrap()).ends_well();
    assert_eq!(place.sorted("out"), ["1,1", "2,1"]);
}

#[test]
fn its_wrong_options_are_refused_and_its_help_shows_its_own() {
    let place = Place::new();
    let run = |args: &str| Ran::of(place.command_of(own_job(), args).output().unwrap());
    assert!(run("run --input in").refused().contains("--output"));
    assert!(run("run --input in --output out --lest 3").refused().contains("did you mean --least?"));
    assert!(run("run --help --least").ends_well().stdout.contains("own-job run [OPTIONS]"));
    assert!(run("run -- --help").ends_well().stdout.contains("Shorter lines are left out"));
    assert_eq!(run("jobs").ends_well().stdout, "own-job\n");
    assert!(place.run(&format!("run {} --nothing", own_job().display())).refused().contains("--nothing"));
}

/// MS-076, MS-080: the last error once, with its cause; four attempts, pauses that grow.
#[test]
fn ms_080_a_panic_of_the_job_is_an_error_in_one_line_after_the_restarts_that_are_allowed() {
    let place = Place::new();
    place.write("in", "a\nbb\nccc\n");
    let strategy = "-D restart-strategy.type=exponential-delay \
        -D restart-strategy.exponential-delay.attempts-before-reset-backoff=3 \
        -D restart-strategy.exponential-delay.initial-backoff=10ms";
    let job = "--input in --output out --panic-at 2";
    let mut command = place.command_of(own_job(), &format!("run --summary summary.json {strategy} {job}"));
    let ran = Ran::of(command.env("RUST_BACKTRACE", "1").output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{}", ran.stderr);
    assert!(errors[0].contains("a line of 2 bytes"), "{}", ran.stderr);
    let last = ran.stderr.lines().filter(|line| line.contains("no restart left")).count();
    assert_eq!(last, 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("stack backtrace") && !ran.stderr.contains("thread '"), "{}", ran.stderr);
    assert_eq!((&place.summary()["state"], &place.summary()["restarts"]), (&"FAILED".into(), &3.into()));
}

/// Ruling 4: a job that waits for its next attempt has nothing to take a checkpoint of, and is not waited for: it ends
/// with the one that it has, like any suspended job. One that is cancelled meanwhile is cancelled.
#[test]
fn ruling_04_a_job_between_two_attempts_ends_at_once() {
    let options = "--summary summary.json -D execution.checkpointing.interval=20ms \
        -D restart-strategy.type=exponential-delay -D restart-strategy.exponential-delay.initial-backoff=1h \
        -D restart-strategy.exponential-delay.max-backoff=2h";
    for (ask, state) in [("TERM", "STOPPED"), ("stop own-job", "STOPPED"), ("cancel own-job", "CANCELED")] {
        let place = Place::new();
        let input = place.write("in", "a\n");
        let job = "--input in --output out --follow --panic-at 2";
        let child = place.start(&format!("run {options} {} {job}", own_job().display()));
        place.job(|job| job["state"] == "RUNNING" && !job["last_checkpoint"].is_null());
        OpenOptions::new().append(true).open(input).unwrap().write_all(b"bb\n").unwrap();
        let seen = place.job(|job| job["state"] == "RESTARTING")["last_checkpoint"]["path"].clone();
        match ask {
            "TERM" => send(&child, ask),
            verb => drop(place.run(verb).ends_well()),
        }
        let ran = Ran::of(child.wait_with_output().unwrap()).ends_well();
        let summary = place.summary();
        assert_eq!(summary["state"], state, "{}", ran.stderr);
        if state == "STOPPED" {
            let path = newest(Path::new(seen.as_str().unwrap()).parent().unwrap());
            assert_eq!(summary["last_checkpoint"], path);
            assert!(ran.stderr.contains("suspended") && ran.stderr.contains(&path), "{}", ran.stderr);
        }
    }
}

/// The newest completed checkpoint of a job. It may have been completed behind the failure of the attempt that took it.
fn newest(job: &Path) -> String {
    let dirs = std::fs::read_dir(job).unwrap().map(|entry| entry.unwrap().path());
    let complete = dirs.filter(|dir| dir.join("_metadata").exists());
    let id = |dir: &PathBuf| dir.to_str()?.rsplit_once("chk-")?.1.parse::<u64>().ok();
    complete.max_by_key(id).expect("a completed checkpoint").to_str().unwrap().to_owned()
}
