//! Kills while barriers overtake: K(n) with a slow sink, rings that are full, and another parallelism at each start. What
//! is in flight is part of checkpoints, which is looked at.

use super::input;
use millstream_tests::process::{KillLoop, Lines, Place, Side, long, wait_for};
use std::fmt::Write;
use std::time::Duration;

fn kills() -> usize {
    if long() { 200 } else { 10 }
}

/// Small rings, so that all of them are full and the source is still far from its end.
const FULL: &str = "-D exchange.segment-size=1kb -D exchange.ring-segments=4";

const OVERTAKING: &str = "-D execution.checkpointing.unaligned.enabled=true";

/// They do when they have not come after 5 ms.
const LATE: &str = "-D execution.checkpointing.unaligned.enabled=true \
                    -D execution.checkpointing.aligned-checkpoint-timeout=5ms";

const PAGED: &str = "-D state.backend.type=paged -D state.backend.paged.small-state=0b";

/// Each start has another parallelism than the one before.
fn rescaled() -> Vec<String> {
    ["-p 2", "-p 3", "-p 1", "-p 4"].map(str::to_owned).to_vec()
}

/// Runs the keyed trial through its kills: every record is counted once, and records have been in flight.
#[track_caller]
fn running_is_exact(options: &str, in_turn: Vec<String>, seed: u64) {
    let text = input::keyed(2_000 * kills());
    let looped = KillLoop {
        interval: "20ms",
        options: format!("{options} {FULL}"),
        in_turn,
        job: "--trial running --input in --output out".to_owned(),
        asked: Some("trials"),
        delay: Duration::from_micros(300),
        kills: kills(),
        within_ms: 400,
        seed,
    };
    let (place, kills, _) = looped.run(|| {
        let place = Place::of_trials();
        place.write("in", &text);
        place
    });
    place.lines("out").are(&input::summed(&text));
    assert!(kills.in_flight > 0, "{kills}");
    assert_eq!(place.figure("records_in"), text.lines().count() as u64);
    assert_eq!(place.figure("records_out"), text.lines().count() as u64);
    assert!(place.files("out", Side::Hidden).is_empty() && place.attempts("ck").is_empty());
}

#[test]
fn uc_04_kills_while_barriers_overtake_lose_and_repeat_nothing() {
    running_is_exact(OVERTAKING, vec!["-p 2".to_owned()], 12);
}

#[test]
fn uc_06_kills_with_another_parallelism_at_each_start_lose_and_repeat_nothing() {
    running_is_exact(OVERTAKING, rescaled(), 13);
}

#[test]
fn uc_06_kills_with_state_in_pages_and_another_parallelism_at_each_start_lose_and_repeat_nothing() {
    running_is_exact(&format!("{OVERTAKING} {PAGED}"), rescaled(), 14);
}

#[test]
fn uc_08_kills_while_late_barriers_overtake_lose_and_repeat_nothing() {
    running_is_exact(LATE, rescaled(), 15);
}

/// Lines `number,checksum,payload`, of 1 byte, 4 KiB and, here and there, 1 MiB; and what the trial finds of them.
fn checked(records: usize, large: usize) -> (String, Lines) {
    let (mut text, mut found) = (String::new(), String::new());
    for i in 0..records {
        let len = match i {
            i if i % large == large / 2 => 1 << 20,
            i if i % 2 == 0 => 4 << 10,
            _ => 1,
        };
        let digit = char::from(b'a' + (i % 26) as u8);
        let payload: String = std::iter::repeat_n(digit, len).collect();
        writeln!(text, "{i},{:08x},{payload}", crc32fast::hash(payload.as_bytes())).unwrap();
        writeln!(found, "{i},{len},right").unwrap();
    }
    (text, Lines::of(found.as_bytes()))
}

/// MS-012: records that are smaller and much larger than a segment, through a shuffle of 3 to 5 subtasks, with kills. None is
/// lost, repeated or damaged.
#[test]
fn ms_012_records_of_all_sizes_are_whole_after_kills() {
    for options in [OVERTAKING, LATE, ""] {
        let parts: Vec<(String, Lines)> = (0..3).map(|_| checked(300 * kills(), 1000)).collect();
        let looped = KillLoop {
            interval: "20ms",
            options: format!("{options} {FULL} -p 5"),
            job: "--trial shuffle --sources 3 --input in --output out".to_owned(),
            asked: Some("trials"),
            delay: Duration::from_millis(2),
            kills: kills(),
            within_ms: 400,
            seed: 120,
            ..KillLoop::default()
        };
        let (place, kills, _) = looped.run(|| {
            let place = Place::of_trials();
            for (part, (text, _)) in parts.iter().enumerate() {
                place.write(&format!("in/{part}"), text);
            }
            place
        });
        let mut wanted = Lines::default();
        for (_, found) in &parts {
            found.0.iter().for_each(|(line, n)| *wanted.0.entry(line.clone()).or_default() += n);
        }
        place.lines("out").are(&wanted);
        assert_eq!(kills.in_flight > 0, !options.is_empty(), "{kills}");
    }
}

/// MS-024, in the form that ruling 32 has: retained checkpoints full of records in flight, restored by 5 subtasks in place of 2
/// and then by 1.
#[test]
fn ms_024_records_in_flight_find_other_subtasks() {
    let (text, found) = checked(if long() { 50_000 } else { 5_000 }, 1_000_000);
    let place = Place::of_trials();
    place.write("in", &text);
    let options = format!(
        "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json {OVERTAKING} {FULL}"
    );
    let job = "--trial shuffle --input in --output out";
    for parallelism in [2, 5] {
        // A sink that is all but blocked.
        let mut running = place.start(&format!("run {options} -p {parallelism} {job} --delay 20ms"));
        running.started();
        // The rings are full from the start, and of one checkpoint as of another.
        wait_for("records in flight", || (place.in_flight("trials") > 0).then_some(()));
        assert!(running.kill().was_killed());
    }
    let mut running = place.start(&format!("run {options} -p 1 {job}"));
    assert!(running.started().starts_with("resuming from "));
    running.wait().well();
    place.lines("out").are(&found);
}
