//! Jobs that run for a while: idle, trickling, misconfigured, and the main job.

use millstream_tests::process::{KillLoop, Lines, Place, long, pause, wait_for};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a steady state is watched; the cases say 60 s, which is the long form.
fn watched() -> Duration {
    Duration::from_secs(if long() { 60 } else { 4 })
}

/// MS-032: checkpoints without input make no files, and of each the one before is removed. They are taken one by one, so
/// that it is known at every moment which there are.
#[test]
fn ms_032_checkpoints_without_input_leave_nothing() {
    let place = Place::new();
    place.write("in", "");
    let options = "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck";
    let running = place.start(&format!("run {options} pass --follow --input in --output out"));
    place.job(|job| job["state"] == "RUNNING");
    let last = if long() { 300 } else { 20 };
    for taken in 1..=last {
        let path = place.run("checkpoint pass").well().stdout;
        assert!(path.trim().ends_with(&format!("/chk-{taken}")), "{path}");
        let only = || place.attempts("ck").iter().map(|(id, _)| *id).eq([taken]);
        wait_for("the one before to go", || only().then_some(()));
    }
    running.signal("TERM");
    running.wait().well();
    assert!(place.attempts("ck").iter().map(|(id, _)| *id).eq([last + 1]), "the final one is kept alone");
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 0);
}

/// MS-032: ten lines a second are one file for a minute, or until the job is stopped, not one for each checkpoint.
#[test]
fn ms_032_a_trickle_follows_the_rolling_rule() {
    let place = Place::new();
    let input = place.write("in", "");
    let options = "-D execution.checkpointing.interval=100ms -D execution.checkpointing.dir=ck";
    let mut running = place.start(&format!("run {options} pass --follow --input in --output out"));
    running.started();
    let mut text = String::new();
    let begun = Instant::now();
    while begun.elapsed() < watched() {
        let line = format!("{}\n", begun.elapsed().as_micros());
        fs::OpenOptions::new().append(true).open(&input).unwrap().write_all(line.as_bytes()).unwrap();
        text += &line;
        pause(Duration::from_millis(100));
    }
    // The last line is in the file once a checkpoint has come.
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    wait_for("all lines to be written", || {
        let files = fs::read_dir(place.path("out")).ok()?.flatten().map(|entry| entry.path());
        (files.map(|file| size(&file)).sum::<u64>() == text.len() as u64).then_some(())
    });
    running.signal("TERM");
    running.wait().well();
    place.lines("out").are(&Lines::of(text.as_bytes()));
    let files = fs::read_dir(place.path("out")).unwrap().count() as u64;
    assert!(files <= 1 + watched().as_secs() / 60, "{files} files");
}

/// Processor time of all threads of a process.
fn used(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let spent = threads.map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
    });
    Duration::from_nanos(spent.sum())
}

/// MS-081: a job with nothing to do uses less than 1 % of a core, and no more and more of the disk.
#[test]
fn ms_081_an_idle_job_costs_next_to_nothing() {
    let place = Place::new();
    place.write("in", "");
    let options = "-p 2 -D execution.checkpointing.interval=1s -D execution.checkpointing.dir=ck";
    let mut running = place.start(&format!("run {options} running --follow --input in --output out"));
    running.started();
    place.checkpoint_above("ck", 0);
    let size = || {
        let metadata = place.checkpoints("ck").pop().unwrap().1.join("_metadata");
        fs::metadata(metadata).map(|found| found.len())
    };
    let before = wait_for("a checkpoint that stays for a moment", || size().ok());
    let (spent, begun) = (used(running.pid()), Instant::now());
    pause(watched());
    let share = (used(running.pid()) - spent).as_secs_f64() / begun.elapsed().as_secs_f64();
    eprintln!("{:.3} % of a core", 100.0 * share);
    assert!(share < 0.01, "{:.2} % of a core", 100.0 * share);
    assert_eq!(wait_for("a checkpoint that stays for a moment", || size().ok()), before);
    // The one before goes when the next one is complete, a moment after.
    wait_for("one checkpoint to be kept", || (place.checkpoints("ck").len() == 1).then_some(()));
    running.signal("TERM");
    running.wait().well();
}

/// MS-082: what is misspelt or makes no sense is refused by key and allowed form; nothing is made.
#[test]
fn ms_082_a_configuration_with_mistakes_is_refused() {
    let place = Place::new();
    place.write("in", "x\n");
    let key = "execution.checkpointing.interval";
    place.write("typo.toml", "[execution]\ncheckpointing.intervall = \"10s\"\n");
    let before = place.everything();
    let config = "run --config typo.toml pass --input in --output out";
    place.run(config).refused(&["typo.toml", "intervall", &format!("did you mean {key}?")]);
    let define = "run -D checkpoint_intervall=10s pass --input in --output out";
    place.run(define).refused(&["checkpoint_intervall"]);
    for bad in ["0", "0s", "-1s", "10", "1e3ms", "99999999999999d", "", "1ms", "ten seconds"] {
        let mut command = place.command("run");
        command.args(["-D", &format!("{key}={bad}"), "pass", "--input", "in", "--output", "out"]);
        place.start_command(command).wait().refused(&[key]);
    }
    before.is_unchanged(&place);
}

/// Totals by name: flights, cancelled, sum and worst of the delays.
type Totals = BTreeMap<String, [i64; 4]>;

/// Item 7 of the page of the data, as it stands there.
fn known_totals() -> Totals {
    let page = fs::read_to_string(data("README.md")).unwrap();
    let item = page.lines().find_map(|line| line.strip_prefix("7. ")).unwrap();
    let mut totals = Totals::new();
    for (by, kind) in [("By origin: ", "origin"), ("By carrier: ", "airline")] {
        let list = item.split_once(by).unwrap().1.split_once('.').unwrap().0;
        for entry in list.split("; ") {
            let (name, numbers) = entry.split_once(' ').unwrap();
            let numbers: Vec<i64> = numbers.split('/').map(|n| n.parse().unwrap()).collect();
            totals.insert(format!("{kind},{name}"), numbers.try_into().unwrap());
        }
    }
    assert_eq!(totals.len(), 3 + 16);
    totals
}

fn data(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/flights").join(file).canonicalize().unwrap()
}

/// Every line of the output is a total so far: of each name all from 1 flight on, each once; the last is the total.
fn last_totals(lines: &Lines) -> Totals {
    let mut all: BTreeMap<String, BTreeMap<i64, [i64; 4]>> = BTreeMap::new();
    for line in lines.texts() {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<i64> = fields[2..].iter().map(|n| n.parse().unwrap()).collect();
        let of_name = all.entry(fields[..2].join(",")).or_default();
        let twice = of_name.insert(numbers[0], numbers.try_into().unwrap());
        assert!(twice.is_none(), "{line}");
    }
    let last = |(name, totals): (String, BTreeMap<i64, [i64; 4]>)| {
        assert!(totals.keys().copied().eq(1..=totals.len() as i64), "{name}: every total so far");
        (name, *totals.last_key_value().unwrap().1)
    };
    all.into_iter().map(last).collect()
}

/// The main job: its totals are those that are known from elsewhere, undisturbed and after kills in the middle.
#[test]
fn flights_totals_are_the_known_ones_also_after_kills() {
    let job = format!("flights --header --input {} --output out", data("flights.csv").display());
    let known = known_totals();
    let place = Place::new();
    let ended = place.run(&format!("run -D execution.checkpointing.interval=100ms {job}")).well();
    let undisturbed = place.lines("out");
    assert_eq!(undisturbed.count(), 2 * 27_004);
    assert_eq!(last_totals(&undisturbed), known);
    // The table for people.
    for (name, totals) in &known {
        let cells: Vec<String> =
            name.split(',').map(str::to_owned).chain(totals.map(|n| n.to_string())).collect();
        let shown = ended.stderr.lines().any(|line| line.split_whitespace().eq(cells.iter()));
        assert!(shown, "{cells:?} in {}", ended.stderr);
    }
    assert!(ended.stderr.contains("out/part-*.csv"));

    for parallelism in [1, 2] {
        let looped = KillLoop {
            interval: "20ms",
            options: format!("-p {parallelism}"),
            job: format!("{job} --roll-size 64kb"),
            delay: Duration::from_micros(100) * parallelism,
            kills: if long() { 40 } else { 8 },
            within_ms: 500,
            seed: u64::from(39 + parallelism),
            ..KillLoop::default()
        };
        let (place, ..) = looped.run(Place::new);
        assert_eq!((place.figure("records_in"), place.figure("records_out")), (27_004, 2 * 27_004));
        let found = place.lines("out");
        assert_eq!(last_totals(&found), known);
        if parallelism == 1 {
            found.are(&undisturbed);
        }
    }
}
