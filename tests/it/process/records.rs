//! Records that are odd, bad or endless.

use millstream_tests::process::{Ended, Lines, Place, Running, wait_for};
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

const CHECKPOINTS: &str =
    "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json";

/// MS-060: CRLF and a quoted line break, in pieces of any size, with a kill between the pieces.
#[test]
fn ms_060_a_quoted_line_break_survives_any_cut() {
    let text = b"id,note\r\n1,\"x\r\ny\"\r\n2,z\r\n";
    let wanted = "id,note\n1,\"x\r\ny\"\n2,z\n";
    let place = Place::new();
    place.write("in", text);
    place.run("run dedup --input in --output out").well();
    assert_eq!(fs::read_to_string(place.path("out/part-0-0.csv")).unwrap(), wanted);

    for cut in [10, 12, 14, 15, 16, 17, 18, 19] {
        let place = Place::new();
        let input = place.write("in", &text[..cut]);
        let job = format!("run {CHECKPOINTS} dedup --follow --input in --output out --roll-size 1b");
        let mut running = place.start(&job);
        running.started();
        wait_for("the first record", || (place.lines("out").count() >= 1).then_some(()));
        running.kill();
        let mut running = place.start(&job);
        running.started();
        OpenOptions::new().append(true).open(input).unwrap().write_all(&text[cut..]).unwrap();
        wait_for("all records", || (place.lines("out").count() >= 4).then_some(()));
        running.signal("TERM");
        running.wait().well();
        // The quoted line break makes two lines of one record.
        place.lines("out").are(&Lines::of(wanted.as_bytes()));
    }
}

/// MS-062: what cannot be used fails the job, is left out, or is kept aside, with its place.
#[test]
fn ms_062_bad_records_are_reported_with_their_place() {
    let place = Place::new();
    place.write("in", "a,1\nb,x\nc,3\nd,99999999999999999999\n");
    let job = format!("run {CHECKPOINTS} running --input in");
    place.run(&format!("{job} --output failed")).failed(&["in:2 (byte offset 4)", "not a whole number"]);
    assert_eq!(place.summary("summary.json")["state"], "FAILED");

    let good = Lines::of(b"a,1\nc,3\n");
    // A new run: what failed has left checkpoints, and would fail at the same record again.
    place.run(&format!("{job} --fresh --output skipped --bad-records skip")).well();
    place.lines("skipped").are(&good);
    let figures = ["records_in", "records_out", "records_rejected"].map(|name| place.figure(name));
    assert_eq!(figures, [4, 2, 2]);

    place.run(&format!("{job} --fresh --output kept --bad-records dead-letter --dead-letter dead")).well();
    place.lines("kept").are(&good);
    let dead = place.lines("dead");
    let dead = dead.texts().join("\n");
    for part in ["b,x", "in:2 (byte offset 4)", "d,99999999999999999999", "in:4 (byte offset 12)"] {
        assert!(dead.contains(part), "{part}: {dead}");
    }
}

/// MS-064: bytes that are not text pass as they are, as lines and as keys.
#[test]
fn ms_064_bytes_that_are_not_text_are_kept() {
    let place = Place::new();
    let text = b"ok1\nk\xffk\na\0b\nok2\n";
    place.write("in", text);
    place.run("run pass --input in --output lines").well();
    assert_eq!(fs::read(place.path("lines/part-0-0.txt")).unwrap(), text);
    place.run("run count --input in --output keys").well();
    place.lines("keys").are(&Lines::of(b"ok1,1\nk\xffk,1\na\0b,1\nok2,1\n"));
}

/// The most memory that a process has had, in bytes, followed to its end.
fn most_memory(mut running: Running) -> (u64, Ended) {
    let mut most = 0;
    let status = format!("/proc/{}/status", running.pid());
    wait_for("the end of a process", || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) * 1024);
        running.over()
    });
    (most, running.wait())
}

/// MS-065: 256 MiB without a line end (zero bytes, so that they need no room on the disk).
#[test]
fn ms_065_an_endless_line_costs_no_memory_and_is_named() {
    const MIB: u64 = 1 << 20;
    let place = Place::new();
    place.write("small", "ok\n");
    let (baseline, ended) = most_memory(place.start("run pass --input small --output baseline"));
    ended.well();
    let mut file = fs::File::create(place.path("in")).unwrap();
    file.set_len(256 * MIB).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"\nok\n").unwrap();

    let skip = place.start("run --summary summary.json pass --input in --output out --bad-records skip");
    let (memory, ended) = most_memory(skip);
    ended.well();
    place.lines("out").are(&Lines::of(b"ok\n"));
    assert_eq!(place.figure("records_rejected"), 1);
    assert!(memory < baseline + 64 * MIB, "{} MiB above {} MiB", memory / MIB, baseline / MIB);

    place
        .run("run pass --input in --output failed")
        .failed(&["in:1 (byte offset 0)", "limit of 1048576 bytes"]);
    // Kept aside whole, with its place, whatever its size.
    let long = "y".repeat(3 << 20);
    place.write("long", format!("{long}\nok\n"));
    let job = "run pass --input long --output kept --bad-records dead-letter --dead-letter dead";
    place.run(job).well();
    place.lines("kept").are(&Lines::of(b"ok\n"));
    let dead = place.lines("dead");
    assert!(dead.0.contains_key(long.as_bytes()));
    assert!(dead.0.keys().any(|line| line.ends_with(b"longer than the limit of 1048576 bytes")));
}

/// MS-075: a record that overflows the sum ends the job at once, whatever restarts are allowed, with its place; what was
/// committed before stays, and the next start says the same.
#[test]
fn ms_075_a_poison_record_ends_the_job_and_is_not_tried_for_ever() {
    let place = Place::new();
    let input = place.write("in", "k,9223372036854775807\n");
    let job = format!("run {CHECKPOINTS} running --follow --input in --output out --roll-size 1b");
    let running = place.start(&job);
    wait_for("the first sum", || (place.lines("out").count() == 1).then_some(()));
    OpenOptions::new().append(true).open(input).unwrap().write_all(b"k,1\nk,-5\n").unwrap();
    let parts = ["in:2 (byte offset 22)", "9223372036854775807 + 1"];
    running.wait().failed(&parts);
    assert_eq!((place.figure("restarts"), place.lines("out").count()), (0, 1));
    place.run(&job).failed(&parts);
    place.lines("out").are(&Lines::of(b"k,9223372036854775807\n"));

    let running = place.start(&format!("{job} --bad-records skip"));
    wait_for("the sum without it", || (place.lines("out").count() == 2).then_some(()));
    running.signal("TERM");
    running.wait().well();
    place.lines("out").are(&Lines::of(b"k,9223372036854775807\nk,9223372036854775802\n"));
    assert_eq!(place.figure("records_rejected"), 1);
}
