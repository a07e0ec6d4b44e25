//! The end of input, and what a stop leaves.

use super::input;
use millstream_tests::process::{KillLoop, Lines, Place, Random, Side, long, pause, wait_for};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const CHECKPOINTS: &str =
    "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json";

/// A span of time in which an event comes about: it grows when a kill came before the event, and shrinks when it came
/// after it, so that kills come close to the event on any machine.
struct Around(u64);

impl Around {
    /// Waits for a part of the span.
    fn wait(&self, random: &mut Random) {
        pause(Duration::from_micros(random.below(self.0)));
    }

    fn killed(&mut self, before: bool) {
        self.0 = if before { self.0 * 10 / 9 } else { self.0 * 9 / 10 };
    }
}

/// 1 to `last`, one a line.
fn numbers(last: u32) -> String {
    (1..=last).map(|n| format!("{n}\n")).collect()
}

/// MS-001: a job that ends has committed all it has read. 40 runs; 200 in the long form.
#[test]
fn ms_001_every_run_that_ends_has_committed_every_line() {
    let place = Place::new();
    for part in 0..4 {
        place.write(
            &format!("in/{part}"),
            (1..=250).map(|n| format!("{}\n", part * 250 + n)).collect::<String>(),
        );
    }
    let wanted = Lines::of(numbers(1000).as_bytes());
    for run in 0..if long() { 200 } else { 40 } {
        let out = format!("out{run}");
        let options = "-p 4 -D execution.checkpointing.interval=10ms -D execution.checkpointing.dir=ck";
        place.run(&format!("run {options} pass --input in --output {out} --roll-size 100b")).well();
        place.lines(&out).are(&wanted);
        assert!(place.files(&out, Side::Hidden).is_empty());
    }
}

/// MS-002: input shorter than the interval, and checkpoints switched off.
#[test]
fn ms_002_short_input_is_committed_with_and_without_checkpoints() {
    for options in ["-D execution.checkpointing.interval=1h", ""] {
        let place = Place::new();
        place.write("in", numbers(10));
        place.run(&format!("run {options} pass --input in --output out")).well();
        place.lines("out").are(&Lines::of(numbers(10).as_bytes()));
    }
}

/// MS-003: an input that ended before the checkpoint is not read again. The large file has 50,000 lines; 1,000,000 in the
/// long form.
#[test]
fn ms_003_an_input_that_has_ended_is_not_read_again() {
    let place = Place::new();
    place.write("a", "a1\na2\na3\n");
    let lines = numbers(if long() { 1_000_000 } else { 50_000 });
    place.write("b", &lines);
    let job = format!("run {CHECKPOINTS} -p 2 pass --input a --input b --output out");
    let mut running = place.start(&format!("{job} --delay 100us"));
    running.started();
    // The three lines are read within a millisecond; the fifth checkpoint comes long after.
    place.checkpoint_above("ck", 4);
    assert!(running.kill().was_killed());
    let ended = place.run(&job).well();
    assert!(ended.start_line.unwrap().starts_with("resuming from "));
    place.lines("out").are(&Lines::of(format!("a1\na2\na3\n{lines}").as_bytes()));
}

/// MS-029: the last files are finished at the end, however small.
#[test]
fn ms_029_the_last_file_is_finished_at_the_end() {
    for options in [CHECKPOINTS, ""] {
        let place = Place::new();
        place.write("in", numbers(5));
        place.run(&format!("run {options} pass --input in --output out --roll-size 1gb")).well();
        place.lines("out").are(&Lines::of(numbers(5).as_bytes()));
        assert!(place.files("out", Side::Hidden).is_empty());
    }
}

/// MS-034: what is in the output directory stays as it is.
#[test]
fn ms_034_files_of_another_run_are_left_alone() {
    let place = Place::new();
    place.write("in", numbers(100));
    let theirs = ["part-0-0", "part-0-0.txt", "part-0-1.txt", "notes"];
    for name in theirs {
        place.write(&format!("out/{name}"), format!("theirs, in {name}"));
    }
    place.run(&format!("run {CHECKPOINTS} pass --input in --output out --roll-size 100b")).well();
    let mut all = numbers(100);
    for name in theirs {
        let text = format!("theirs, in {name}");
        assert_eq!(fs::read_to_string(place.path(format!("out/{name}"))).unwrap(), text);
        all += &format!("{text}\n");
    }
    place.lines("out").are(&Lines::of(all.as_bytes()));
}

/// MS-001, MS-018: kills around the last checkpoint, the last commit and the end itself. A run after which the next start
/// is a new one has finished (ruling 2): everything is committed, and whoever started it has been told so, though the kill
/// came before its exit. How many kills come in there is printed; it is not for a test to say how few.
#[test]
fn ms_018_kills_around_the_end_lose_and_repeat_nothing() {
    let text = input::keyed(300);
    let wanted = Lines::of(text.as_bytes());
    // 300 records take about 35 ms, the start and the end about 15 ms each.
    let (mut random, mut around) = (Random::new(18), Around(90_000));
    let (mut killed, mut resumed, mut finished, mut between) = (0, 0, 0, 0);
    for _ in 0..if long() { 500 } else { 40 } {
        let place = Place::new();
        place.write("in", &text);
        let job = format!("run {CHECKPOINTS} pass --input in --output out --roll-size 1kb --delay 50us");
        let running = place.start(&job);
        around.wait(&mut random);
        let ended = running.kill();
        around.killed(ended.was_killed());
        if !ended.was_killed() {
            ended.well();
            finished += 1;
            place.lines("out").are(&wanted);
            continue;
        }
        killed += 1;
        let before = place.lines("out");
        let summary = fs::read_to_string(place.path("summary.json")).unwrap_or_default();
        let second = place.run(&job).well();
        let line = second.start_line.unwrap();
        if line == "starting without state (the job had finished; this is a new run)" {
            before.are(&wanted);
            let told = ended.stderr.contains("finished: 300 records read, 300 written");
            assert!(told && summary.contains("FINISHED"), "{}{summary}", ended.stderr);
            between += 1;
            continue;
        }
        resumed += usize::from(line.starts_with("resuming from "));
        place.lines("out").are(&wanted);
        assert!(place.files("out", Side::Hidden).is_empty());
    }
    eprintln!(
        "{killed} runs killed, {resumed} of them went on from a checkpoint, {between} had told of their end; {finished} \
         were over before"
    );
    assert!(resumed > 0 && finished > 0, "kills before and after the end");
}

/// MS-018: a stop takes a checkpoint, closes every file and commits it; a kill then comes within a few milliseconds, before,
/// in or after the commit. 25 stops; 500 in the long form.
#[test]
fn ms_018_kills_in_the_commit_of_a_stop_lose_and_repeat_nothing() {
    let text = input::keyed(if long() { 500_000 } else { 10_000 });
    let place = Place::new();
    place.write("in", &text);
    let job = format!("run {CHECKPOINTS} -p 2 running --input in --output out --roll-size 500b");
    let (mut random, mut around) = (Random::new(180), Around(12_000));
    let (mut killed, mut in_commit, mut stopped) = (0, 0, 0);
    for _ in 0..if long() { 500 } else { 25 } {
        let mut running = place.start(&format!("{job} --delay 100us"));
        running.started();
        let newest = place.checkpoints("ck").last().map_or(0, |(id, _)| *id);
        place.checkpoint_above("ck", newest);
        let before = place.files("out", Side::Visible).len();
        running.signal("TERM");
        around.wait(&mut random);
        let ended = running.kill();
        around.killed(ended.was_killed());
        if ended.was_killed() {
            killed += 1;
            // Some files of the stop's checkpoint have their names, and others have not.
            let visible = place.files("out", Side::Visible).len();
            in_commit += usize::from(visible > before && !place.files("out", Side::Hidden).is_empty());
        } else {
            assert!(ended.well().stderr.contains("suspended: "));
            stopped += 1;
        }
    }
    eprintln!("{killed} stops killed, {in_commit} of them while files were committed; {stopped} done");
    assert!(killed > 0 && stopped > 0, "kills before and after the end of a stop");
    place.run(&job).well();
    place.lines("out").are(&input::summed(&text));
    let files = place.files("out", Side::Visible);
    let contents: BTreeSet<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert_eq!(contents.len(), files.len(), "no two files with the same content");
}

/// MS-030: output that a checkpoint counts on was removed by others. One clear error names file and checkpoint; with
/// `--ignore-missing` the job goes on without it, and says how many files are lost.
#[test]
fn ms_030_removed_output_is_named_or_counted() {
    let place = Place::new();
    let input = place.write("in", numbers(5));
    let options =
        "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck --summary summary.json";
    let job = format!("run {options} pass --follow --input in --output out --roll-size 1b");
    let running = place.start(&job);
    let hidden = || place.files("out", Side::Hidden);
    wait_for("a file for every line", || (hidden().len() == 5).then_some(()));
    let removed = hidden()[2].clone();
    fs::remove_file(&removed).unwrap();
    place.run("checkpoint pass").well();
    let named = [removed.file_name().unwrap().to_str().unwrap(), "checkpoint 1", "--ignore-missing"];
    running.wait().failed(&named);
    assert_eq!(place.figure("restarts"), 0, "no endless restart");
    place.run(&job).refused(&named);

    let running = place.start(&format!("{job} --ignore-missing"));
    wait_for("the other files", || (place.lines("out").count() == 4).then_some(()));
    fs::OpenOptions::new().append(true).open(&input).unwrap().write_all(b"6\n").unwrap();
    wait_for("the next line", || (!hidden().is_empty()).then_some(()));
    running.signal("TERM");
    let ended = running.wait().well();
    assert!(ended.stderr.contains("warning: 1 output files were gone"), "{}", ended.stderr);
    place.lines("out").are(&Lines::of(b"1\n2\n4\n5\n6\n"));
}

/// MS-018: a kill as soon as a file of a commit has its name, while others wait for theirs. The restart gives them
/// theirs, and nothing twice.
#[test]
fn ms_018_kills_between_two_files_of_a_commit_lose_and_repeat_nothing() {
    let text = input::keyed(20_000);
    let place = Place::new();
    place.write("in", &text);
    // Hundreds of files in every commit.
    let job = "run -D execution.checkpointing.interval=100ms -D execution.checkpointing.dir=ck running --input in \
               --output out --roll-size 1b";
    let hidden = || place.files("out", Side::Hidden);
    let newest = || place.checkpoints("ck").last().map_or(0, |(id, _)| *id);
    let mut in_commit = 0;
    let mut left: Option<(Vec<PathBuf>, u64)> = None;
    for _ in 0..15 {
        let mut running = place.start(&format!("{job} --delay 100us"));
        running.started();
        if let Some((files, checkpoint)) = left {
            // What the checkpoint does not cover was removed before the start: these wait to be committed.
            let covered: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
            let rest = || covered.iter().any(|file| file.exists());
            wait_for("the rest of the commit", || (!rest()).then_some(()));
            in_commit += usize::from(!covered.is_empty() && newest() == checkpoint);
        }
        let first = wait_for("a file to be committed", || hidden().first().cloned());
        // Without a rest between the looks: a commit is a matter of milliseconds.
        let begun = Instant::now();
        while first.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no commit");
        }
        assert!(running.kill().was_killed());
        left = Some((hidden(), newest()));
    }
    eprintln!("15 kills, {in_commit} of them between two files of a commit");
    assert!(in_commit > 0);
    place.run(&job.replace("1b", "1mb")).well();
    place.lines("out").are(&input::summed(&text));
}

/// MS-077: all that was written is committed by a stop, and nothing of it is read again.
#[test]
fn ms_077_a_stop_commits_all_that_was_written() {
    let place = Place::new();
    let lines = numbers(10_000);
    place.write("in", &lines);
    let job = format!("run {CHECKPOINTS} pass --follow --input in --output out");
    let mut running = place.start(&job);
    running.started();
    let written =
        |side| place.files("out", side).iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>();
    // A checkpoint brings to the file all that was read before it.
    wait_for("all lines to be written", || (written(Side::Hidden) == lines.len() as u64).then_some(()));
    running.signal("TERM");
    running.wait_at_most(Duration::from_secs(10)).well();
    place.lines("out").are(&Lines::of(lines.as_bytes()));
    assert_eq!(place.summary("summary.json")["state"], "STOPPED");

    let mut running = place.start(&job);
    assert!(running.started().starts_with("resuming from "));
    let newest = place.checkpoints("ck").last().unwrap().0;
    place.checkpoint_above("ck", newest);
    running.signal("TERM");
    running.wait_at_most(Duration::from_secs(10)).well();
    place.lines("out").are(&Lines::of(lines.as_bytes()));
    assert_eq!((place.figure("records_in"), place.figure("records_out")), (10_000, 10_000));
}

/// MS-084: three kills, and the totals are those of 1,000 lines.
#[test]
fn ms_084_totals_count_every_record_once_over_three_kills() {
    let text = numbers(1_000);
    let looped = KillLoop {
        interval: "20ms",
        options: String::new(),
        job: "pass --input in --output out".to_owned(),
        delay: Duration::from_millis(1),
        kills: 3,
        within_ms: 300,
        seed: 84,
        ..KillLoop::default()
    };
    let (place, ..) = looped.run(|| {
        let place = Place::new();
        place.write("in", &text);
        place
    });
    assert_eq!((place.figure("records_in"), place.figure("records_out")), (1_000, 1_000));
    place.lines("out").are(&Lines::of(text.as_bytes()));
}
