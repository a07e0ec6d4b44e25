//! Starts on what a crash, a person or a bad disk has left behind.

use super::input;
use millstream_tests::process::{KillLoop, Lines, Place, Random, Side, long, pause, wait_for};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CHECKPOINTS: &str =
    "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json";

/// Even small pieces of state are files of their own.
const FILES: &str = "-D execution.checkpointing.data-inline-threshold=1b";

/// Runs the job until it has taken some checkpoints, then kills it.
#[track_caller]
fn killed_after(place: &Place, job: &str, checkpoints: u64) {
    let mut running = place.start(job);
    running.started();
    let newest = place.checkpoints("ck").last().map_or(0, |(id, _)| *id);
    place.checkpoint_above("ck", newest + checkpoints - 1);
    assert!(running.kill().was_killed());
}

fn newest(place: &Place) -> PathBuf {
    place.checkpoints("ck").last().expect("a completed checkpoint").1.clone()
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn cut(file: &Path, bytes: u64) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len.saturating_sub(bytes)).unwrap();
}

/// MS-005: a crash before the first checkpoint. Nothing is skipped, at the same parallelism or another one.
#[test]
fn ms_005_a_crash_before_the_first_checkpoint_begins_again() {
    let text: String = (0..100_000).map(|i| format!("k{}\n", i % 100)).collect();
    let mut random = Random::new(5);
    for parallelism in [4, 2] {
        let place = Place::new();
        place.write("in", &text);
        let job = "run -D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck";
        for _ in 0..5 {
            let running = place.start(&format!("{job} -p 4 count --input in --output out --delay 100us"));
            pause(Duration::from_micros(random.below(50_000)));
            assert!(running.kill().was_killed());
        }
        let ended = place.run(&format!("{job} -p {parallelism} count --input in --output out")).well();
        assert_eq!(ended.start_line.unwrap(), "starting without state (no completed checkpoint)");
        let wanted: String = (0..100).map(|key| format!("k{key},1000\n")).collect();
        place.lines("out").are(&Lines::of(wanted.as_bytes()));
    }
}

/// MS-010: what stands where the next checkpoints would be is in nobody's way, and never taken for a checkpoint.
#[test]
fn ms_010_leftovers_under_the_names_of_checkpoints_to_come() {
    let place = Place::new();
    let text = input::keyed(3_000);
    place.write("in", &text);
    let job = format!("run {CHECKPOINTS} {FILES} count --input in --output out");
    let mut running = place.start(&format!("{job} --delay 300us"));
    running.started();
    place.checkpoint_above("ck", 2);
    running.signal("TERM");
    running.wait().well();
    let kept = newest(&place);
    let (id, job_dir) = (place.checkpoints("ck").last().unwrap().0, kept.parent().unwrap());
    fs::create_dir(job_dir.join(format!("chk-{}", id + 1))).unwrap();
    // Half of the files of a checkpoint: all but the one that makes it one.
    let half = job_dir.join(format!("chk-{}", id + 2));
    fs::create_dir(&half).unwrap();
    for file in files_of(&kept).iter().filter(|file| !file.ends_with("_metadata")) {
        fs::copy(file, half.join(file.file_name().unwrap())).unwrap();
    }
    assert!(!files_of(&half).is_empty());

    let mut running = place.start(&format!("{job} --delay 300us"));
    assert_eq!(running.started(), format!("resuming from {}", kept.display()));
    assert!(place.checkpoint_above("ck", id) > id);
    running.kill();
    place.run(&job).well();
    place.lines("out").are(&input::counted(&text));
    assert!(place.attempts("ck").is_empty());
}

/// MS-019: one damaged byte in any file of the newest checkpoint refuses the start and names the file; the hint is the command
/// that goes on from the one before.
#[test]
fn ms_019_a_damaged_checkpoint_refuses_and_names_the_file_and_the_one_before() {
    let place = Place::new();
    let text = input::keyed(3_000);
    place.write("in", &text);
    let job = format!(
        "run {CHECKPOINTS} {FILES} -D execution.checkpointing.num-retained=3 -p 2 count --input in --output out"
    );
    killed_after(&place, &format!("{job} --delay 300us"), 5);
    let checkpoints = place.checkpoints("ck");
    assert!(checkpoints.len() >= 3, "{checkpoints:?}");
    let [.., (_, older), (_, newest)] = checkpoints.as_slice() else { panic!("two checkpoints") };
    let files = files_of(newest);
    assert!(files.len() >= 3, "metadata and the state of two subtasks: {files:?}");
    for file in files {
        let sound = fs::read(&file).unwrap();
        let mut damaged = sound.clone();
        damaged[sound.len() / 2] ^= 0x40;
        fs::write(&file, &damaged).unwrap();
        let before = place.everything();
        let refused =
            place.run(&job).refused(&[&file.display().to_string(), &format!("-s {}", older.display())]);
        assert!(refused.start_line.is_none());
        before.is_unchanged(&place);
        fs::write(&file, sound).unwrap();
    }
    // What the hint says, with the newest one damaged for good.
    let metadata = newest.join("_metadata");
    cut(&metadata, 1);
    let ended = place.run(&format!("{job} -s {}", older.display())).well();
    assert_eq!(ended.start_line.unwrap(), format!("starting from {}", older.display()));
    place.lines("out").are(&input::counted(&text));
}

/// MS-020: a start says what it goes on from; `--fresh` begins again, and deletes nothing.
#[test]
fn ms_020_a_start_says_what_it_goes_on_from_and_fresh_deletes_nothing() {
    let place = Place::new();
    let text = input::keyed(3_000);
    place.write("in", &text);
    let job = format!("run {CHECKPOINTS} count --input in");
    killed_after(&place, &format!("{job} --output out --delay 300us"), 3);
    let kept = newest(&place);
    let metadata = fs::read(kept.join("_metadata")).unwrap();

    let ended = place.run(&format!("{job} --fresh --output fresh")).well();
    assert!(ended.start_line.unwrap().starts_with("starting without state"));
    place.lines("fresh").are(&input::counted(&text));
    assert_eq!(fs::read(kept.join("_metadata")).unwrap(), metadata, "nothing old is deleted");

    let place = Place::new();
    place.write("in", &text);
    killed_after(&place, &format!("{job} --output out --delay 300us"), 3);
    let line = format!("resuming from {}", newest(&place).display());
    let ended = place.run(&format!("{job} --output out")).well();
    assert_eq!(ended.start_line.as_ref(), Some(&line));
    assert_eq!(ended.stderr.lines().filter(|said| **said == *line).count(), 1);
    place.lines("out").are(&input::counted(&text));
}

/// MS-020: checkpoints that others have deleted are missed, after a suspend as after a kill: never a silent start at zero.
#[test]
fn ms_020_deleted_checkpoints_of_a_suspended_job_are_missed() {
    for suspended in [true, false] {
        let place = Place::new();
        place.write("in", input::keyed(3_000));
        let job = format!("run {CHECKPOINTS} count --input in --output out --delay 300us");
        if suspended {
            let mut running = place.start(&job);
            running.started();
            place.checkpoint_above("ck", 2);
            running.signal("TERM");
            running.wait().well();
        } else {
            killed_after(&place, &job, 3);
        }
        let newest = newest(&place);
        for (_, dir) in place.attempts("ck") {
            fs::remove_dir_all(dir).unwrap();
        }
        let missing = if suspended { newest.display().to_string() } else { "/chk-".to_owned() };
        let before = place.everything();
        place.run(&job).refused(&[&missing, "was completed", "-s PATH", "--fresh"]);
        before.is_unchanged(&place);
    }
}

/// MS-071: kills while checkpoints of several MB are written, aimed at that. 10 kills and 300,000 keys; in the long form
/// 300 kills and 3,000,000 keys, which are about 100 MB.
#[test]
fn ms_071_kills_while_a_checkpoint_is_written() {
    let (keys, kills) = if long() { (3_000_000, 300) } else { (300_000, 10) };
    let text: String = (0..keys).map(|i| format!("key-number-{i}\n")).collect();
    let place = Place::new();
    place.write("state", &text);
    // Followed, so that the job does not end: its state is there before the first kill.
    let job = format!("run {CHECKPOINTS} dedup --follow --input state --output out");
    let mut running = place.start(&job);
    running.started();
    let size =
        |dir: &Path| files_of(dir).iter().map(|file| fs::metadata(file).map_or(0, |found| found.len())).sum();
    wait_for("state to be in a checkpoint", || {
        let (_, dir) = place.checkpoints("ck").pop()?;
        let size: u64 = dir.exists().then(|| size(&dir))?;
        (size > 10 * keys).then_some(())
    });
    running.kill();
    let mut half = 0;
    for _ in 0..kills {
        let kept = newest(&place);
        let mut running = place.start(&job);
        assert_eq!(running.started(), format!("resuming from {}", kept.display()));
        let unfinished = || place.attempts("ck").into_iter().find(|(_, dir)| !dir.join("_metadata").exists());
        wait_for("a checkpoint under way", || {
            unfinished().filter(|(_, dir)| !dir.join("_metadata").exists())
        });
        running.kill();
        if let Some((_, dir)) = unfinished() {
            half += 1;
            // Its newest file may be cut as well.
            if let Some(file) = files_of(&dir).last() {
                cut(file, 1_000);
            }
        }
    }
    eprintln!("{kills} kills, {half} of them left half a checkpoint");
    assert!(half > 0);
    let mut running = place.start(&job);
    running.started();
    let last = newest(&place);
    // The kills may have come before all was read for the first time.
    let bytes = |side| {
        place.files("out", side).iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum::<u64>()
    };
    wait_for("all lines to be written", || {
        (bytes(Side::Visible) + bytes(Side::Hidden) >= text.len() as u64).then_some(())
    });
    wait_for("another checkpoint", || (place.checkpoints("ck").pop()?.1 != last).then_some(()));
    running.signal("TERM");
    running.wait().well();
    place.lines("out").are(&Lines::of(text.as_bytes()));
    assert_eq!(place.attempts("ck").len(), 1, "leftovers are gone");
}

/// MS-072: the end is cut off a file after a kill. What the checkpoint does not cover is not missed; what it covers is named.
#[test]
fn ms_072_cut_files_are_not_missed_or_named() {
    let text = input::keyed(4_000);
    let job = format!("run {CHECKPOINTS} {FILES} running --input in --output out");
    let mut named = 0;
    for bytes in [1, 7, 64, 4096, u64::MAX] {
        let place = Place::new();
        place.write("in", &text);
        killed_after(&place, &format!("{job} --delay 100us"), 4);
        let hidden = place.files("out", Side::Hidden);
        let kept = newest(&place);
        let lineage = kept.parent().unwrap().join("lineage");
        let files: Vec<PathBuf> = hidden.into_iter().chain(files_of(&kept)).chain([lineage]).collect();
        assert!(files.len() >= 4, "output, metadata, state, lineage: {files:?}");
        for file in &files {
            let sound = fs::read(file).unwrap();
            cut(file, bytes);
            place.run(&job).refused(&[file.file_name().unwrap().to_str().unwrap()]);
            assert_eq!(place.lines("out").count(), 0);
            named += 1;
            fs::write(file, sound).unwrap();
        }
        // Half a record that no checkpoint covers, as a crash leaves it, cut as well.
        let torn = OpenOptions::new().append(true).open(&files[0]).unwrap();
        (&torn).write_all(&b"k1,1".repeat(2_000)).unwrap();
        cut(&files[0], bytes.min(8_000));
        let ended = place.run(&job).well();
        assert_eq!(ended.start_line.unwrap(), format!("resuming from {}", kept.display()));
        place.lines("out").are(&input::summed(&text));
    }
    assert_eq!(named, 5 * 5, "all that a checkpoint covers is missed");
}

/// MS-074: the second start is refused within a second; after a kill the third works at once.
#[test]
fn ms_074_one_process_at_a_time_and_no_stale_lock() {
    let place = Place::new();
    place.write("in", "a\nb\n");
    let job = format!("run {CHECKPOINTS} count --follow --input in --output out");
    let mut first = place.start(&job);
    first.started();
    let second = place.start(&job).wait_at_most(Duration::from_secs(1));
    second.refused(&[&first.pid().to_string()]);
    // Nor from another home: the checkpoint directory has a lock of its own.
    let mut elsewhere = place.command(&job);
    elsewhere.env("MILLSTREAM_HOME", place.path("home2"));
    place.start_command(elsewhere).wait_at_most(Duration::from_secs(1)).refused(&[&first.pid().to_string()]);
    first.kill();
    let mut third = place.start(&job);
    third.started();
    third.signal("TERM");
    third.wait().well();
}

/// MS-026: one key, eight subtasks. 100,000 records and 5 kills; 1,000,000 and 20 in the long form.
#[test]
fn ms_026_one_key_for_all_records() {
    let (records, kills) = if long() { (1_000_000, 20) } else { (100_000, 5) };
    let text = "x\n".repeat(records);
    let looped = KillLoop {
        interval: "100ms",
        options: "-p 8".to_owned(),
        job: "count --input in --output out".to_owned(),
        delay: Duration::from_micros(60),
        kills,
        within_ms: 600,
        seed: 26,
        ..KillLoop::default()
    };
    let (place, kills, _) = looped.run(|| {
        let place = Place::new();
        place.write("in", &text);
        place
    });
    assert!(kills.resumed > 0, "checkpoints complete throughout");
    place.lines("out").are(&Lines::of(format!("x,{records}\n").as_bytes()));
}
