//! Slow branches, and a stop in the middle of an input that would take for ever.

use millstream_tests::process::{Lines, Place, Side, long, pause, wait_for};
use std::fs;
use std::time::{Duration, Instant};

/// `first` to `last`, one a line.
fn numbers(first: u32, last: u32) -> String {
    (first..=last).map(|n| format!("{n}\n")).collect()
}

/// Memory of a process, in KiB.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
}

/// MS-011: one branch of a union takes 5 ms for a record. Checkpoints keep completing, memory stays bounded, the result is exact.
/// 20,000 records on each branch in the long form.
#[test]
fn ms_011_a_slow_branch_delays_no_checkpoint() {
    let unaligned = "-D execution.checkpointing.unaligned.enabled=true";
    let late = "-D execution.checkpointing.unaligned.enabled=true \
                -D execution.checkpointing.aligned-checkpoint-timeout=20ms";
    for mode in ["", unaligned, late] {
        let place = Place::of_trials();
        let records = if long() { 20_000 } else { 400 };
        let (slow, fast) = (numbers(1, records), numbers(records + 1, 2 * records));
        place.write("slow", &slow);
        place.write("fast", &fast);
        // 500 ms of 100 s, or 50 ms of 2 s.
        let interval = if long() { "500ms" } else { "50ms" };
        let options = format!(
            "-D execution.checkpointing.interval={interval} -D execution.checkpointing.dir=ck --summary summary.json \
             -D execution.checkpointing.tolerable-failed-checkpoints=1000 {mode}"
        );
        let mut running = place.start(&format!(
            "run {options} --trial union --input slow --input fast --output out --branch-delay 5ms"
        ));
        running.started();
        let mut memory = (u64::MAX, 0);
        while running.over().is_none() {
            if let Some(now) = resident(running.pid()) {
                memory = (memory.0.min(now), memory.1.max(now));
            }
            pause(Duration::from_millis(20));
        }
        running.wait().well();
        place.lines("out").are(&Lines::of(format!("{slow}{fast}").as_bytes()));
        assert_eq!((place.figure("checkpoints_failed"), place.figure("restarts")), (0, 0));
        // One in 10 s is asked for; there is time for 200, or for 40.
        assert!(place.figure("checkpoints_completed") >= 10, "{mode}");
        assert!(memory.1 - memory.0 < 64 << 10, "from {} to {} KiB", memory.0, memory.1);
    }
}

/// MS-011: a checkpoint that comes too late fails, and that alone restarts nothing.
#[test]
fn ms_011_a_checkpoint_that_comes_too_late_restarts_nothing() {
    let place = Place::of_trials();
    let (slow, fast) = (numbers(1, 20), numbers(21, 600));
    place.write("slow", &slow);
    place.write("fast", &fast);
    let options = "-D execution.checkpointing.interval=20ms -D execution.checkpointing.dir=ck --summary summary.json \
                   -D execution.checkpointing.tolerable-failed-checkpoints=1000 -D execution.checkpointing.timeout=10ms";
    // A barrier waits for the records in front of it, 1 ms for each.
    let job = "--trial union --input slow --input fast --output out --branch-delay 1ms --delay 1ms";
    place.run(&format!("run {options} {job}")).well();
    place.lines("out").are(&Lines::of(format!("{slow}{fast}").as_bytes()));
    assert!(place.figure("checkpoints_failed") > 0);
    assert_eq!(place.figure("restarts"), 0);
}

/// MS-006, in the form that ruling 32 leaves for now: a job in the middle of one huge file, with 1 ms for each record, is
/// stopped within 10 s; what goes on from there gives the rest. 2 GiB in the long form.
#[test]
fn ms_006_a_stop_in_the_middle_of_a_huge_file_is_quick() {
    let place = Place::new();
    let line = |n: usize| format!("{n:08}-{}\n", "x".repeat(1000));
    let records = if long() { 2_100_000 } else { 60_000 };
    place.write("in", "");
    let mut file = std::io::BufWriter::new(fs::File::create(place.path("in")).unwrap());
    let write = |n| std::io::Write::write_all(&mut file, line(n).as_bytes()).unwrap();
    (0..records).for_each(write);
    file.into_inner().unwrap();
    let options =
        "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck --summary summary.json";
    let job = format!("run {options} pass --input in --output out");
    let mut running = place.start(&format!("{job} --delay 1ms"));
    running.started();
    let some =
        || place.files("out", Side::Hidden).iter().any(|file| fs::metadata(file).is_ok_and(|f| f.len() > 0));
    wait_for("records to be written", || some().then_some(()));
    let begun = Instant::now();
    place.run("stop pass").well();
    running.wait_at_most(Duration::from_secs(10)).well();
    eprintln!("stopped in {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(10));
    let read = place.figure("records_in");
    assert!(read > 0 && read < records as u64 / 2, "{read}");
    let mut running = place.start(&job);
    assert!(running.started().starts_with("resuming from "));
    running.wait_at_most(Duration::from_secs(120)).well();
    assert_eq!(place.figure("records_in"), records as u64);
    // Line by line, so that 2 GiB need not be in memory.
    let mut seen = vec![false; records];
    for file in place.files("out", Side::Visible) {
        for found in std::io::BufRead::lines(std::io::BufReader::new(fs::File::open(file).unwrap())) {
            let found = found.unwrap();
            let n: usize = found[..8].parse().unwrap();
            assert_eq!(format!("{found}\n"), line(n));
            assert!(!std::mem::replace(&mut seen[n], true), "{n} twice");
        }
    }
    assert!(seen.into_iter().all(|seen| seen));
}
