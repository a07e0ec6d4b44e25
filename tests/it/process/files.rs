//! Files that grow, move and are replaced while they are read, and while nobody reads them.

use millstream_tests::process::{Ended, KillLoop, Lines, Place, Running, long, wait_for};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Every line is a file, committed with the next checkpoint: what has been read is soon seen.
const FOLLOW: &str = "run -D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck \
                      --summary summary.json pass --follow --output out --roll-size 1b --input";

/// `line <n>` for each of the numbers.
fn lines(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers.into_iter().map(|n| format!("line {n:04}\n")).collect()
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Waits until that many lines are committed.
#[track_caller]
fn committed(place: &Place, count: u64) {
    wait_for("lines to be committed", || (place.lines("out").count() >= count).then_some(()));
}

/// Lets the job take two more checkpoints: had there been something else to read, it would be committed now.
#[track_caller]
fn settle(place: &Place) {
    for _ in 0..2 {
        let newest = place.checkpoints("ck").last().map_or(0, |(id, _)| *id);
        // Files are looked at every 100 ms.
        place.checkpoint_above("ck", newest + 6);
    }
}

#[track_caller]
fn stop(running: Running) -> Ended {
    running.signal("TERM");
    running.wait().well()
}

/// MS-053, MS-054: a new file is read whatever its time of change is.
#[test]
fn ms_053_ms_054_new_files_are_read_whatever_their_time_says() {
    let place = Place::new();
    let a = place.write("in/a", "in a\n");
    let running = place.start(&format!("{FOLLOW} in"));
    committed(&place, 1);
    let touched = |name: &str, time: SystemTime| {
        let path = place.write(name, format!("in {name}\n"));
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        fs::rename(&path, place.path(format!("in/{name}"))).unwrap();
    };
    touched("equal", fs::metadata(&a).unwrap().modified().unwrap());
    touched("older", SystemTime::now() - Duration::from_secs(365 * 86_400));
    committed(&place, 3);
    settle(&place);
    stop(running);
    place.lines("out").are(&Lines::of(b"in a\nin equal\nin older\n"));
}

/// MS-055: rotation by renaming: while the job runs, while it is stopped, and while it is dead.
#[test]
fn ms_055_a_file_that_is_rotated_by_renaming_is_read_once() {
    for input in ["logs", "logs/app.log"] {
        for when in ["running", "stopped", "killed"] {
            let place = Place::new();
            let log = place.write("logs/app.log", lines(1..=10));
            let job = format!("{FOLLOW} {input}");
            let mut running = Some(place.start(&job));
            committed(&place, 10);
            match (when, running.take()) {
                ("stopped", Some(job)) => drop(stop(job)),
                ("killed", Some(job)) => drop(job.kill()),
                (_, job) => running = job,
            }
            // What was written last before the renaming, and the new file.
            append(&log, &lines(11..=13));
            fs::rename(&log, place.path("logs/app.log.1")).unwrap();
            place.write("logs/app.log", lines(14..=20));
            let running = running.unwrap_or_else(|| {
                let mut again = place.start(&job);
                assert!(again.started().starts_with("resuming from "));
                again
            });
            committed(&place, 20);
            settle(&place);
            stop(running);
            place.lines("out").are(&Lines::of(lines(1..=20).as_bytes()));
        }
    }
}

/// MS-056: copied and truncated: the file begins again, also when it has grown beyond the old place before the next look.
#[test]
fn ms_056_a_file_that_is_copied_and_truncated_begins_again() {
    for killed in [false, true] {
        let place = Place::new();
        let log = place.write("logs/app.log", lines(1..=10));
        let job = format!("{FOLLOW} logs/app.log");
        let mut running = place.start(&job);
        committed(&place, 10);
        if killed {
            settle(&place);
            running.kill();
            fs::copy(&log, place.path("logs/app.log.1")).unwrap();
            fs::write(&log, "five\nsixx\nlast\n").unwrap();
            running = place.start(&job);
            running.started();
        } else {
            fs::copy(&log, place.path("logs/app.log.1")).unwrap();
            fs::write(&log, "five\nsixx\nlast\n").unwrap();
        }
        committed(&place, 13);
        settle(&place);
        let small = format!("{}five\nsixx\nlast\n", lines(1..=10));
        place.lines("out").are(&Lines::of(small.as_bytes()));

        // Truncated, and at once larger than it was, with a line end where the old one was read to.
        let grown: String = (101..=150).map(|n| format!("g{n}\n")).collect();
        fs::write(&log, &grown).unwrap();
        committed(&place, 63);
        settle(&place);
        stop(running);
        place.lines("out").are(&Lines::of((small + &grown).as_bytes()));
    }
}

/// MS-057: a line without an end waits for it, over a kill; at the end of bounded input it counts.
#[test]
fn ms_057_half_a_line_waits_for_the_rest() {
    let place = Place::new();
    let log = place.write("log", "first\nhel");
    let job = format!("{FOLLOW} log");
    let mut running = place.start(&job);
    committed(&place, 1);
    settle(&place);
    running.kill();
    place.lines("out").are(&Lines::of(b"first\n"));
    running = place.start(&job);
    running.started();
    settle(&place);
    append(&log, "lo\n");
    committed(&place, 2);
    stop(running);
    place.lines("out").are(&Lines::of(b"first\nhello\n"));

    let place = Place::new();
    place.write("in", "head\ntail");
    place.run("run pass --input in --output out").well();
    place.lines("out").are(&Lines::of(b"head\ntail\n"));
}

/// MS-058: many files, stopped and killed. 200 files of 100 lines and 5 kills; 1,000 files and 20 kills in the long form.
#[test]
fn ms_058_many_files_are_read_once_each() {
    let (files, kills) = if long() { (1_000, 20) } else { (200, 5) };
    let mut all = String::new();
    let texts: Vec<String> = (0..files).map(|file| lines(file * 100..(file + 1) * 100)).collect();
    texts.iter().for_each(|text| all.push_str(text));
    let looped = KillLoop {
        interval: "20ms",
        options: "-p 2".to_owned(),
        job: "pass --input in --output out".to_owned(),
        delay: Duration::from_micros(150),
        kills,
        within_ms: 400,
        seed: 58,
        ..KillLoop::default()
    };
    let (place, ..) = looped.run(|| {
        let place = Place::new();
        for (number, text) in texts.iter().enumerate() {
            place.write(&format!("in/{}/{number}", number % 10), text);
        }
        place
    });
    place.lines("out").are(&Lines::of(all.as_bytes()));
    assert_eq!(place.figure("records_in"), u64::from(files) * 100);
}
