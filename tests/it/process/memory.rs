//! State that is larger than the memory that the process may have.

use millstream_tests::process::{Lines, Place, wait_for};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What the process may have, in KiB.
const LIMIT: usize = 40 << 10;

/// What a run may take whose state is on a disk that others use.
const LONG: Duration = Duration::from_secs(180);

/// State in pages, of which 4 MB are in memory.
const PAGED: &str =
    "-D state.backend.type=paged -D state.backend.paged.memory=4mb -D state.backend.paged.small-state=64kb";

/// Records of `keys` keys of so many bytes and 12 more, every third of them twice, in no order; and what `count` makes of them.
fn large(keys: usize, padding: usize) -> (String, Lines) {
    let padding = "x".repeat(padding);
    let (mut text, mut counted) = (String::new(), Lines::default());
    for pass in 0..2 {
        for i in (0..keys).map(|i| i * 7_919 % keys).filter(|i| pass == 0 || i % 3 == 0) {
            writeln!(text, "key-{i:07}-{padding},1").unwrap();
            if pass == 0 {
                counted
                    .0
                    .insert(format!("key-{i:07}-{padding},{}", if i % 3 == 0 { 2 } else { 1 }).into(), 1);
            }
        }
    }
    (text, counted)
}

/// Keys of 1,012 bytes whose bytes alone are more than three times the limit.
const KEYS: usize = 3 * (LIMIT << 10) / 1_012 + 1;

/// The command under a limit to its data: heap, stacks, anonymous mappings (`RLIMIT_DATA`, as `ulimit -d` sets it). Pages of files
/// are the system's.
fn limited(command: &Command, kib: usize) -> Command {
    under(command, &format!("ulimit -d {kib}"))
}

/// The command behind what a shell does first, in the shell's process.
fn under(command: &Command, first: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{first} && exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().expect("a place"));
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// BE-03: three times as much state as the process may have of memory, and the counts are those that it has without a limit.
#[test]
fn be_03_state_of_three_times_the_memory_of_the_process() {
    let place = Place::new();
    let (text, counted) = large(KEYS, 1_000);
    place.write("in", &text);
    let job = "count --input in --output out";
    // The limit is one: tables in memory end the process.
    let tables = place.command(&format!("run -D state.backend.type=hashmap {job}"));
    assert!(place.start_command(limited(&tables, LIMIT)).wait().was_killed());
    let pages = place.command(&format!("run {PAGED} -D task.local-dir=local --summary summary.json {job}"));
    place.start_command(limited(&pages, LIMIT)).wait().well();
    place.lines("out").are(&counted);
    assert_eq!(place.figure("records_in"), text.lines().count() as u64);
    assert_eq!(fs::read_dir(place.path("local")).unwrap().count(), 0, "files without names");
}

/// BE-03: with checkpoints, one of which has all of the state, and a start from one. A snapshot on its way to the disk is some
/// chunks, and a copy of what was changed before its turn, of which there is a bound: records wait for the disk.
#[test]
fn be_03_checkpoints_of_state_of_three_times_the_memory_of_the_process() {
    let limit = 64 << 10;
    let place = Place::new();
    let (text, counted) = large(3 * (limit << 10) / 8_012 + 1, 8_000);
    place.write("in", &text);
    let options = "-D execution.checkpointing.interval=200ms -D execution.checkpointing.dir=ck --summary summary.json \
                   -D state.backend.type=paged -D state.backend.paged.memory=4mb -D state.backend.paged.small-state=0b \
                   -D state.backend.paged.chunk-size=16kb -D task.local-dir=local";
    let job = place.command(&format!("run {options} count --input in --output out --delay 1us"));
    let again = || limited(&job, limit);
    let running = place.start_command(again());
    place.checkpoint_above("ck", 8);
    assert!(running.kill().was_killed());
    let mut running = place.start_command(again());
    assert!(running.started().starts_with("resuming from "));
    running.wait_at_most(LONG).well();
    place.lines("out").are(&counted);
    assert_eq!(place.figure("records_in"), text.lines().count() as u64);
    assert_eq!(place.figure("restarts"), 0);
}

/// A control group of the system with a limit of its own, until this is dropped.
struct Group(PathBuf);

impl Group {
    /// None, with the reason printed, where the system has no such groups or does not let us make one.
    fn new(bytes: usize) -> Option<Self> {
        let name = format!("millstream-test-{}", std::process::id());
        for (root, limit) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        {
            let group = Self(PathBuf::from(root).join(&name));
            if fs::create_dir(&group.0).is_ok() && fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        eprintln!("skipped: no control group with a limit to its memory can be made");
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// BE-03: here pages of files count as well, and the system writes out and reads back what it has no room for.
#[test]
fn be_03_state_of_three_times_the_memory_of_a_control_group() {
    let place = Place::new();
    let Some(group) = Group::new(LIMIT << 10) else { return };
    let (text, counted) = large(KEYS, 1_000);
    place.write("in", &text);
    let job =
        format!("run {PAGED} -D task.local-dir=local --summary summary.json count --input in --output out");
    let enter = format!("echo $$ > {}/cgroup.procs", group.0.display());
    place.start_command(under(&place.command(&job), &enter)).wait_at_most(LONG).well();
    place.lines("out").are(&counted);
    assert_eq!(place.figure("records_in"), text.lines().count() as u64);
}

/// MS-069 for scratch: the disk of the files that state is in is full. The error names file, cause and remedy, the checkpoint before
/// it is intact, and with room the job goes on from there.
#[test]
fn ms_069_a_full_disk_of_scratch_files_is_named_and_the_checkpoint_before_it_is_intact() {
    let place = Place::new();
    let Some(disk) = place.small_disk("disk", "8m") else { return };
    let (text, counted) = large(20_000, 1_000);
    place.write("in", &text);
    let options = "-D execution.checkpointing.interval=10ms -D execution.checkpointing.dir=ck -D task.local-dir=disk/local \
                   --summary summary.json";
    let job = format!("run {options} {PAGED} count --input in --output out --delay 5us");
    let strict = job.replace("run ", "run -D restart-strategy.type=none ");
    let named = ["disk/local/", "No space left on device", "task.local-dir", "state.backend.paged.memory"];
    place.run(&strict).failed(&named);
    assert!(place.figure("checkpoints_completed") > 0);
    place.run(&strict).failed(&named);
    assert_eq!(place.lines("out").count(), 0);
    disk.resize("512m");
    let mut running = place.start(&job);
    assert!(running.started().starts_with("resuming from "));
    running.wait().well();
    place.lines("out").are(&counted);
}

/// MS-069: with the default restarts the job waits for room, and goes on by itself.
#[test]
fn ms_069_a_job_waits_for_room_for_scratch_files() {
    let place = Place::new();
    let Some(disk) = place.small_disk("disk", "8m") else { return };
    let (text, counted) = large(20_000, 1_000);
    place.write("in", &text);
    let options = "-D execution.checkpointing.interval=10ms -D execution.checkpointing.dir=ck -D task.local-dir=disk/local \
                   --summary summary.json";
    let pauses = "-D restart-strategy.exponential-delay.initial-backoff=50ms";
    let job = format!("run {options} {pauses} {PAGED} count --input in --output out");
    let mut running = place.start(&job);
    wait_for("a restart because of the full disk", || {
        assert!(running.over().is_none(), "{}", running.said());
        running.said().contains("No space left on device").then_some(())
    });
    disk.resize("512m");
    running.wait().well();
    place.lines("out").are(&counted);
    assert!(place.figure("restarts") > 0);
}

/// MS-029 for scratch: a kill leaves no file behind.
#[test]
fn ms_029_a_kill_leaves_no_scratch_files() {
    let place = Place::new();
    let (text, _) = large(20_000, 1_000);
    place.write("in", &text);
    let job = format!("run {PAGED} -D task.local-dir=local count --follow --input in --output out");
    let running = place.start(&job);
    let maps = format!("/proc/{}/maps", running.pid());
    wait_for("state in files", || {
        let maps = fs::read_to_string(&maps).unwrap();
        (maps.matches(".scratch (deleted)").count() > 4).then_some(())
    });
    assert!(running.kill().was_killed());
    assert_eq!(fs::read_dir(place.path("local")).unwrap().count(), 0);
}
