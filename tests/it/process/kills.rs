//! K(n): a checkpoint every 20 ms, `kill -9` after 0 to 400 ms, a restart, n times, then to the end. 10 kills here,
//! 200 with `MILLSTREAM_LONG=1`.

use super::input;
use millstream_tests::process::{KillLoop, Lines, Place, Side, long};
use std::collections::BTreeSet;
use std::time::Duration;

fn kills() -> usize {
    if long() { 200 } else { 10 }
}

/// Runs a job through its kills over records that outlast them. Gives the place and the records.
#[track_caller]
fn killed(job: &str, parallelism: u32, seed: u64) -> (Place, String) {
    killed_with("", job, parallelism, seed)
}

/// State in pages from the first key on.
const PAGED: &str = "-D state.backend.type=paged -D state.backend.paged.small-state=0b";

#[track_caller]
fn killed_with(options: &str, job: &str, parallelism: u32, seed: u64) -> (Place, String) {
    // A kill comes after 200 ms on average; 100 us are what a pause takes at least.
    let records = 2_000 * kills();
    let text = input::keyed(records);
    let looped = KillLoop {
        interval: "20ms",
        options: format!("{options} -p {parallelism}"),
        job: format!("{job} --input in --output out --roll-size 4kb"),
        delay: Duration::from_micros(150) * parallelism,
        kills: kills(),
        within_ms: 400,
        seed,
        ..KillLoop::default()
    };
    let (place, ..) = looped.run(|| {
        let place = Place::new();
        place.write("in", &text);
        place
    });
    // MS-084: each record once, however often it was read again.
    assert_eq!(place.figure("records_in"), records as u64);
    assert_eq!(place.figure("records_out"), place.lines("out").count());
    // MS-029: nothing is left unfinished.
    assert!(place.files("out", Side::Hidden).is_empty());
    // MS-052: the checkpoints of a finished job are gone.
    assert!(place.attempts("ck").is_empty());
    (place, text)
}

/// MS-004, MS-018, MS-084: every line once; each restart goes on from the newest checkpoint.
#[test]
fn ms_004_ms_018_ms_084_killed_pass_writes_every_line_once() {
    for parallelism in [1, 4] {
        let (place, text) = killed("pass", parallelism, 4);
        place.lines("out").are(&Lines::of(text.as_bytes()));
    }
}

#[test]
fn killed_count_counts_every_record_once() {
    for parallelism in [1, 4] {
        let (place, text) = killed("count", parallelism, 5);
        place.lines("out").are(&input::counted(&text));
    }
}

#[test]
fn be_04_killed_count_on_pages_counts_every_record_once() {
    for parallelism in [1, 4] {
        let (place, text) = killed_with(PAGED, "count", parallelism, 8);
        place.lines("out").are(&input::counted(&text));
    }
}

#[test]
fn be_04_killed_running_on_pages_gives_every_sum_once() {
    for parallelism in [1, 4] {
        let (place, text) = killed_with(PAGED, "running", parallelism, 9);
        place.lines("out").are(&input::summed(&text));
    }
}

/// Ruling 31: each key's outputs are exactly 1 to its count.
#[test]
fn killed_running_gives_every_sum_once() {
    for parallelism in [1, 4] {
        let (place, text) = killed("running", parallelism, 6);
        place.lines("out").are(&input::summed(&text));
    }
}

/// MS-033: one line of each key; with one subtask, the first one. That a committed line stays is part of every loop.
#[test]
fn ms_033_killed_dedup_lets_one_line_of_each_key_pass() {
    for parallelism in [1, 4] {
        let (place, text) = killed("dedup", parallelism, 7);
        let found = place.lines("out");
        let lines = found.texts();
        let all: BTreeSet<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| all.contains(line)), "lines as they stood");
        let keys: BTreeSet<&str> = lines.iter().map(|line| input::key(line)).collect();
        assert_eq!((keys.len(), found.count()), (input::counts(&text).len(), keys.len() as u64));
        if parallelism == 1 {
            let mut seen = BTreeSet::new();
            let firsts: BTreeSet<&str> = text.lines().filter(|line| seen.insert(input::key(line))).collect();
            assert_eq!(lines.into_iter().collect::<BTreeSet<_>>(), firsts);
        }
    }
}
