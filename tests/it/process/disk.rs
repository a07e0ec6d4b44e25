//! Disks that are full, and directories that cannot be written to.

use super::input;
use millstream_tests::process::{Lines, Place, Side, long, wait_for};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn allow(dir: &Path, mode: u32) {
    fs::set_permissions(dir, Permissions::from_mode(mode)).unwrap();
}

/// MS-007: a checkpoint that fails because the sink cannot begin a file is counted once; the next one commits what it had, once.
#[test]
fn ms_007_a_checkpoint_that_failed_leaves_nothing_behind() {
    let place = Place::of_a_plain_user();
    let text = input::keyed(1_000);
    place.write("in", &text);
    // Checkpoints are taken only when asked for: the number of failures is known.
    let options = "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck --summary summary.json \
                   -D execution.checkpointing.tolerable-failed-checkpoints=1";
    let job = format!("run {options} running --input in --output out --delay 1ms");
    let mut running = place.start(&job);
    running.started();
    place.run("checkpoint running").well();
    running.kill();
    // From here on the job goes on from a checkpoint.
    let mut running = place.start(&job);
    assert!(running.started().starts_with("resuming from "));
    place.run("checkpoint running").well();
    // What is written so far goes on in its file; a stop closes it, so that the next checkpoint needs a new one.
    running.signal("TERM");
    running.wait().well();
    let mut running = place.start(&job);
    running.started();
    allow(&place.path("out"), 0o555);
    let failed = place.run("checkpoint running");
    assert_eq!(failed.code(), Some(1), "{}", failed.stderr);
    allow(&place.path("out"), 0o755);
    let failure = failed.stderr.lines().next().unwrap().to_owned();
    assert!(failure.contains("part-0-") && failure.contains("Permission denied"), "{failure}");
    place.run("checkpoint running").well();
    let history: Value =
        serde_json::from_str(&place.run("checkpoints running --json").well().stdout).unwrap();
    assert_eq!(history["counts"]["failed"], 1);
    running.wait().well();
    place.lines("out").are(&input::summed(&text));
    assert_eq!((place.figure("checkpoints_failed"), place.figure("restarts")), (1, 0));
}

/// MS-009: a checkpoint directory that cannot be used refuses the start: below a file, and where nothing may be made.
#[test]
fn ms_009_a_checkpoint_directory_that_cannot_be_used_refuses_the_start() {
    let place = Place::of_a_plain_user();
    place.write("in", "x\n");
    place.write("file", "in the way");
    fs::create_dir(place.path("closed")).unwrap();
    allow(&place.path("closed"), 0o555);
    for (dir, cause) in
        [("file/ck", "Not a directory"), ("closed/ck", "Permission denied"), ("closed", "Permission denied")]
    {
        let before = place.everything();
        let options = format!("-D execution.checkpointing.interval=1s -D execution.checkpointing.dir={dir}");
        place.run(&format!("run {options} pass --input in --output out")).refused(&[dir, cause]);
        before.is_unchanged(&place);
    }
    let before = place.everything();
    place.run("run pass --input in --output closed/out").refused(&["closed/out", "Permission denied"]);
    place.run("run pass --input in --output closed").refused(&["closed", "Permission denied"]);
    place.run("run pass --input in --output file").refused(&["file"]);
    before.is_unchanged(&place);
}

/// State that does not fit the disk: keys that are all different, the size of the disk, and a pause so that there is a
/// checkpoint before it is full. 40,000 keys on 800 kB; 3,000,000 on 64 MB, without a pause, in the long form.
fn growing() -> (String, &'static str, &'static str) {
    let (keys, size, pause) = if long() { (3_000_000, "64m", "") } else { (40_000, "800k", "--delay 5us") };
    ((0..keys).map(|i| format!("key-number-{i},1\n")).collect(), size, pause)
}

fn all_ones(text: &str) -> Lines {
    Lines::of(text.as_bytes())
}

/// MS-069: the disk of the checkpoints is full. The error names it; the checkpoint before is intact; with room the job goes on.
#[test]
fn ms_069_a_full_disk_is_named_and_the_checkpoint_before_it_is_intact() {
    let (text, size, pause) = growing();
    let place = Place::new();
    let Some(disk) = place.small_disk("disk", size) else { return };
    place.write("in", &text);
    let options = "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=disk/ck --summary summary.json";
    let job = format!("run {options} running --input in --output out");
    let strict = format!("{job} {pause}").replace("run ", "run -D restart-strategy.type=none ");
    place.run(&strict).failed(&["disk/ck/", "No space left on device"]);
    assert!(place.figure("checkpoints_completed") > 0 && place.figure("checkpoints_failed") > 0);
    let kept = place.checkpoints("disk/ck").pop().expect("the checkpoint before").1;
    // Still full: it fails again, and again nothing is lost.
    place.run(&strict).failed(&["disk/ck/", "No space left on device"]);
    assert_eq!(place.lines("out").count(), 0);

    disk.resize("512m");
    let mut running = place.start(&job);
    assert!(running.started().starts_with("resuming from "), "from {} or one after it", kept.display());
    running.wait().well();
    place.lines("out").are(&all_ones(&text));
    assert!(place.files("out", Side::Hidden).is_empty());
}

/// MS-069: with the default restarts the job waits for room, and goes on by itself.
#[test]
fn ms_069_a_job_waits_for_room_on_a_full_disk() {
    let (text, size, pause) = growing();
    let place = Place::new();
    let Some(disk) = place.small_disk("disk", size) else { return };
    place.write("in", &text);
    let options = "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=disk/ck --summary summary.json";
    let pauses = "-D restart-strategy.exponential-delay.initial-backoff=50ms";
    let mut running = place.start(&format!("run {options} {pauses} running --input in --output out {pause}"));
    wait_for("a restart because of the full disk", || {
        assert!(running.over().is_none(), "{}", running.said());
        running.said().contains("No space left on device").then_some(())
    });
    disk.resize("512m");
    running.wait().well();
    place.lines("out").are(&all_ones(&text));
    assert!(place.figure("restarts") > 0);
    assert_eq!(place.figure("records_out"), place.figure("records_in"));
}

/// MS-069: the disk of the output is full.
#[test]
fn ms_069_a_full_output_disk_is_named_and_nothing_is_lost() {
    let text = input::keyed(40_000);
    let place = Place::new();
    let Some(disk) = place.small_disk("disk", "1m") else { return };
    place.write("in", &text);
    let options =
        "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json";
    let job = format!("run {options} pass --input in --output disk/out --roll-size 64kb");
    let strict = format!("{job} --delay 5us").replace("run ", "run -D restart-strategy.type=none ");
    place.run(&strict).failed(&["disk/out/", "No space left on device"]);
    let seen = place.lines("disk/out");
    assert!(seen.0.values().all(|times| *times == 1));
    disk.resize("64m");
    place.run(&job).well();
    place.lines("disk/out").are(&Lines::of(text.as_bytes()));
}

/// MS-078: the final checkpoint of a stop fails. The stop says so; after the repair the output is exact.
#[test]
fn ms_078_a_stop_whose_checkpoint_fails_says_so_and_the_job_can_go_on() {
    for by_signal in [false, true] {
        let place = Place::of_a_plain_user();
        let text = input::keyed(3_000);
        place.write("in", &text);
        let options = "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json \
                       -D execution.checkpointing.tolerable-failed-checkpoints=1000";
        let job = format!("run {options} --grace 2s running --input in --output out");
        let mut running = place.start(&format!("{job} --delay 1ms"));
        running.started();
        place.checkpoint_above("ck", 2);
        let job_dir = place.checkpoints("ck").pop().unwrap().1.parent().unwrap().to_owned();
        allow(&job_dir, 0o555);
        if by_signal {
            running.signal("TERM");
            let ended = running.wait();
            assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
            assert!(ended.stderr.contains("error: "), "{}", ended.stderr);
        } else {
            let stop = place.run("stop running");
            assert_eq!(stop.code(), Some(1), "{}{}", stop.stdout, stop.stderr);
            assert!(stop.stderr.starts_with("error: ") && stop.stdout.is_empty(), "{}", stop.stderr);
            eprintln!("stop: {}", stop.stderr);
            if running.over().is_none() {
                running.kill();
            }
        }
        allow(&job_dir, 0o755);
        let ended = place.run(&job).well();
        assert!(ended.start_line.unwrap().starts_with("resuming from "));
        place.lines("out").are(&input::summed(&text));
    }
}

/// A full disk keeps nobody from ending a job: a cancel ends it with code 0 (ruling 4) and says what is left of it, a stop
/// has no final checkpoint, and says what to do.
#[test]
fn ruling_04_a_job_ends_as_asked_although_the_disk_of_its_checkpoints_is_full() {
    let place = Place::new();
    let Some(_disk) = place.small_disk("disk", "1m") else { return };
    let text = input::keyed(100);
    place.write("in", &text);
    let options = "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=disk/ck --summary summary.json";
    let job = format!("run {options} pass --follow --input in --output out");
    for verb in ["cancel", "stop"] {
        let running = place.start(&job);
        place.job(|job| job["state"] == "RUNNING");
        let taken = place.run("checkpoint pass").well().stdout;
        // No room comes any more from the deletion of the one before.
        wait_for("one checkpoint", || (place.attempts("disk/ck").len() == 1).then_some(()));
        let filled = fill(&place.path("disk/fill"));
        let asked = place.run(&format!("{verb} pass"));
        let ended = running.wait();
        assert_eq!(place.summary("summary.json")["last_checkpoint"], taken.trim());
        if verb == "cancel" {
            asked.well();
            let said = ended.well().stderr;
            assert!(said.contains("could not be put on record") && said.contains("No space left"), "{said}");
            assert_eq!(place.summary("summary.json")["state"], "CANCELED");
        } else {
            for told in [asked, ended] {
                told.failed(&["stop: pass: ", "No space left on device", "start the job again"]);
            }
            assert_eq!(place.summary("summary.json")["state"], "FAILED");
        }
        fs::remove_file(filled).unwrap();
    }
    let mut running = place.start(&job);
    assert!(running.started().starts_with("resuming from "));
    place.run("stop pass").well();
    running.wait().well();
    place.lines("out").are(&Lines::of(text.as_bytes()));
}

/// Takes all the room that is left on a disk.
fn fill(path: &Path) -> PathBuf {
    let mut file = fs::File::create(path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path.to_owned()
}
