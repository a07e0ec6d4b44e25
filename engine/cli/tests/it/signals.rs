//! SIGTERM and SIGINT.

use crate::support::{Place, Ran, send, wait_for};

const JOB: &str = "run -D execution.checkpointing.interval=50ms --summary summary.json pass --follow --input in --output out";

#[test]
fn ms_077_a_signal_suspends_with_everything_committed_and_the_next_start_reads_none_of_it_again() {
    for signal in ["TERM", "INT"] {
        let place = Place::new();
        let lines: String = (0..10_000).map(|i| format!("line {i}\n")).collect();
        place.write("in", &lines);
        let child = place.start(JOB);
        place.job(|job| job["state"] == "RUNNING" && !job["last_checkpoint"].is_null());
        send(&child, signal);
        let ran = Ran::of(child.wait_with_output().unwrap()).ends_well();
        assert!(ran.stderr.contains("suspended"), "{}", ran.stderr);
        let summary = place.summary();
        assert_eq!(summary["state"], "STOPPED");
        // What had been read is committed, whether that was everything or not.
        let committed = summary["records_out"].as_u64().unwrap();
        assert_eq!(place.lines("out").len() as u64, committed);

        let child = place.start(JOB);
        place.job(|job| job["state"] == "RUNNING" && !job["last_checkpoint"].is_null());
        send(&child, signal);
        Ran::of(child.wait_with_output().unwrap()).ends_well();
        let found = place.lines("out");
        assert_eq!(found.len() as u64, place.summary()["records_out"].as_u64().unwrap());
        let wanted: Vec<String> = lines.lines().take(found.len()).map(str::to_owned).collect();
        let mut sorted = found;
        let number = |line: &String| line["line ".len()..].parse::<u32>().unwrap();
        sorted.sort_by_key(number);
        assert_eq!(sorted, wanted);
    }
}

#[test]
fn ms_077_a_second_signal_leaves_at_once_and_the_job_can_be_recovered() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let place = Place::new();
        place.write("in", "a\nb\nc\n");
        // The sink is so slow that a clean stop takes longer than anybody waits.
        let slow = JOB.replace("--follow", "--delay 1h");
        let child = place.start(&slow);
        place.job(|job| job["state"] == "RUNNING");
        send(&child, signal);
        wait_for("the first signal to be heard", || {
            let listed = place.run("list --json").stdout;
            (!listed.contains("RUNNING")).then_some(())
        });
        send(&child, signal);
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        let bounded = JOB.replace("--follow", "");
        place.run(&bounded).ends_well();
        assert_eq!(place.sorted("out"), ["a", "b", "c"]);
    }
}

#[test]
fn ms_077_when_the_grace_is_over_the_exit_code_is_1_and_checkpoints_are_kept() {
    let place = Place::new();
    place.write("in", "a\nb\n");
    let slow = JOB.replace("--follow", "--delay 1h").replace("run ", "run --grace 100ms ");
    let child = place.start(&slow);
    place.job(|job| job["state"] == "RUNNING");
    send(&child, "TERM");
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("100ms"), "{}", ran.stderr);
    assert_eq!(place.summary()["state"], "FAILED");
}

/// Ruling 2: a run that could not write its summary has not finished. It is started again, has nothing left to process,
/// and writes nothing twice.
#[test]
fn ruling_02_a_run_whose_summary_cannot_be_written_goes_on_when_it_is_started_again() {
    let place = Place::new();
    place.write("in", "a\nb\nc\n");
    std::fs::create_dir(place.path("reports")).unwrap();
    let job = "run -D execution.checkpointing.interval=50ms --summary reports/summary.json pass --input in --output out";
    let child = place.start(&format!("{job} --delay 100ms"));
    place.job(|job| job["state"] == "RUNNING");
    std::fs::remove_dir(place.path("reports")).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: write summary: reports/summary.json: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("finished:"), "{}", ran.stderr);
    std::fs::create_dir(place.path("reports")).unwrap();
    let again = place.run(job).ends_well().stderr;
    assert!(
        again.contains("resuming from") && again.contains("finished: 3 records read, 3 written"),
        "{again}"
    );
    assert_eq!(place.sorted("out"), ["a", "b", "c"]);
    assert!(place.path("reports/summary.json").exists());
}

/// Whoever reads what a job says may leave before it ends; that is no failure of the job, and changes no exit code.
#[test]
fn a_job_ends_well_though_nobody_reads_what_it_says() {
    let place = Place::new();
    place.write("in", "a\nb\nc\n");
    let code = |args: &str| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        place.command(args).stderr(writer).status().unwrap().code()
    };
    let job =
        "run -D execution.checkpointing.interval=50ms --summary summary.json pass --input in --output out";
    assert_eq!(code(job), Some(0));
    assert_eq!(place.summary()["state"], "FINISHED");
    assert_eq!(place.sorted("out"), ["a", "b", "c"]);
    assert_eq!(code("run pass --input none --output out"), Some(2));
    assert_eq!(code("cancel nothing"), Some(1));
    let detached = job.replace("run ", "run --detached ").replace("--input", "--follow --input");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(place.command(&detached).stdout(writer).status().unwrap().success());
    place.job(|job| job["state"] == "RUNNING");
    place.run("cancel pass").ends_well();
}

/// A file that outgrows the limit of the process is an error that names it, not the end without a word.
#[test]
fn a_file_beyond_the_limit_of_the_process_is_an_error_that_names_it() {
    let place = Place::new();
    place.write("in", "some words of a line\n".repeat(20_000));
    // Blocks of 512 bytes or 1 KiB, after which the signal would come.
    let ran = place.run_below("ulimit -f 100", "run pass --input in --output out");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("part-0-0.txt") && ran.stderr.contains("File too large"), "{}", ran.stderr);
}
