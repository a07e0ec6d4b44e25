//! SR-02, SR-05, SK-01, SK-06 on real files: the process dies before each step of a job (every fourth, all in the long
//! form), and the next one goes on from what it left on the disk.

use crate::hand::{Hand, INTERVAL, env};
use millstream::Env;
use millstream::connector::{FileSink, FileSource};
use millstream::storage::DiskStorage;
use millstream_io::storage::fault::FaultStorage;
use std::path::PathBuf;
use std::sync::Arc;

/// Files of very different sizes, one of them empty, one without a last line end; more than there are subtasks.
const FILES: [(&str, u32); 5] = [("a", 40), ("b", 0), ("c", 3), ("d", 1), ("e", 17)];

struct Place {
    dir: tempfile::TempDir,
    wanted: Vec<String>,
}

#[expect(clippy::disallowed_methods, reason = "a test looks at files")]
impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("in")).unwrap();
        let mut wanted = Vec::new();
        for (name, lines) in FILES {
            let lines: Vec<String> = (0..lines).map(|n| format!("{name}{n}")).collect();
            let end = if name == "c" || lines.is_empty() { "" } else { "\n" };
            std::fs::write(dir.path().join("in").join(name), lines.join("\n") + end).unwrap();
            wanted.extend(lines);
        }
        wanted.sort();
        Self { dir, wanted }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Lines of the files whose names do not begin with a dot, and the number of the others.
    fn output(&self) -> (Vec<String>, usize) {
        let (mut lines, mut hidden) = (Vec::new(), 0);
        for entry in std::fs::read_dir(self.path("out")).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with('.') {
                hidden += 1;
            } else {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                lines.extend(text.lines().map(str::to_owned));
            }
        }
        lines.sort();
        (lines, hidden)
    }
}

/// Reads with two subtasks, in batches of a few records, and writes with two; files hold a few lines.
fn job(place: &Place) -> Env {
    let env = env();
    env.configure(|settings| {
        settings.checkpointing.dir = Some(place.path("ck"));
        settings.exchange.segment_size = millstream::config::ByteSize(1024);
    });
    env.source(FileSource::lines([place.path("in")]))
        .name("in")
        .uid("in")
        .parallelism(2)
        .rebalance()
        .parallelism(2)
        .sink(FileSink::lines(place.path("out")).roll_size(30))
        .uid("out");
    env
}

/// Everybody in turn, one step each, and a checkpoint every other round; false when the job has ended.
fn round(hand: &mut Hand, steps: &mut u64, die_at: u64) -> bool {
    let mut step = |act: &mut dyn FnMut()| {
        *steps += 1;
        if *steps < die_at {
            act();
        }
        *steps < die_at
    };
    for name in hand.names() {
        if !step(&mut || _ = hand.step(&name)) {
            return false;
        }
    }
    if hand.waiting() > 0 && !step(&mut || hand.work_on(0)) {
        return false;
    }
    step(&mut || hand.pass(INTERVAL / 2)) && !hand.is_over()
}

/// Runs until the process dies; the number of steps it took. None if the job was over before.
fn run(place: &Place, die_at: u64) -> Option<u64> {
    let mut hand = Hand::launch(&job(place), &FaultStorage::new(Arc::new(DiskStorage::new())));
    if hand.start.contains("the job had finished") {
        return None;
    }
    let mut steps = 0;
    while round(&mut hand, &mut steps, die_at) {}
    Some(steps)
}

#[test]
fn sr_02_sr_05_sk_01_sk_06_killed_before_every_step_every_line_is_written_once() {
    let place = Place::new();
    let whole = run(&place, u64::MAX).unwrap();
    assert_eq!(place.output(), (place.wanted.clone(), 0));
    let mut in_the_middle = 0;
    let mut deaths = 0;
    let all = std::env::var_os("MILLSTREAM_LONG").is_some();
    for die_at in (1..whole).step_by(if all { 1 } else { 4 }) {
        deaths += 1;
        let place = Place::new();
        run(&place, die_at);
        // Whoever reads in between sees lines of the result, none twice.
        let (mut seen, _) = place.output();
        in_the_middle += u32::from(!seen.is_empty() && seen.len() < place.wanted.len());
        let before = seen.clone();
        seen.dedup();
        assert_eq!(seen, before, "died before step {die_at}: repeated");
        // A second death, early in the life of the next process; then a third one is left alone.
        run(&place, 1 + die_at * 7 % 20);
        run(&place, u64::MAX);
        assert_eq!(place.output(), (place.wanted.clone(), 0), "died before step {die_at}");
    }
    println!("{deaths} deaths, {in_the_middle} of them with a part of the output committed");
    assert!(in_the_middle * 5 > deaths, "{in_the_middle} of {deaths}");
}
