//! Field cases and rules, one by one.

use super::harness::*;
use crate::connector::FileSink;
use crate::connector::testing::sink_context;
use crate::error::Class;
use crate::id::CheckpointId;
use crate::sink::{Epoch, Sink, SinkContext};
use crate::storage::fault::{Fault, FaultStorage, Op};
use crate::storage::{DiskStorage, MemoryStorage, Storage, read_all};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn memory() -> (MemoryStorage, Setting) {
    let memory = MemoryStorage::new();
    (memory.clone(), Setting::new(Arc::new(memory)))
}

fn at(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

fn put(storage: &dyn Storage, name: &str, bytes: &[u8]) {
    storage.create_dir_all(Path::new(DIR)).unwrap();
    storage.create(&at(name)).unwrap().append(bytes).unwrap();
}

#[test]
fn ms_029_the_last_file_is_finished_at_the_end() {
    let (memory, setting) = memory();
    let mut attempt = Setting { sink: FileSink::lines(DIR).roll_size(1 << 30), ..setting }
        .start(&Snapshot::default())
        .unwrap();
    attempt.write(5).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..0));
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(names(&memory), ["part-0-0"]);
    assert_eq!(visible_lines(&memory), lines(0..5));
    assert_eq!(attempt.counters.records_out.get(), 5);
}

#[test]
fn sk_06_only_files_closed_before_the_barrier_become_visible() {
    let (memory, setting) = memory();
    let mut attempt =
        Setting { sink: FileSink::lines(DIR).roll_size(1), ..setting }.start(&Snapshot::default()).unwrap();
    attempt.write(2).unwrap();
    let (snapshot, works) = attempt.barrier(false).unwrap();
    attempt.write(1).unwrap();
    works.into_iter().for_each(|work| work().unwrap());
    assert_eq!(visible_lines(&memory), lines(0..0));
    attempt.commit(snapshot.id).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
    assert_eq!((attempt.counters.records_sealed.get(), attempt.counters.records_out.get()), (3, 2));
    assert_eq!(hidden(&memory), [format!(".part-0-2.{JOB}.1.uncommitted")]);
}

/// Ruling 29: a checkpoint counts what is visible once it is complete, the report what is. The record that stands in an
/// open file at the barrier is in neither, until its file is finished: by the attempt that goes on with it.
#[test]
fn ruling_29_a_record_counts_with_its_file() {
    let (memory, setting) = memory();
    let setting = Setting { sink: FileSink::lines(DIR).roll_size(10), ..setting };
    let counted =
        |attempt: &Attempt| (attempt.counters.records_sealed.get(), attempt.counters.records_out.get());
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    // "0:.\n", "1:x.\n" and "2:xx.\n" are 4 + 5 + 6 bytes, which closes the first file.
    attempt.write(4).unwrap();
    assert_eq!(counted(&attempt), (3, 0));
    let (snapshot, works) = attempt.barrier(false).unwrap();
    works.into_iter().for_each(|work| work().unwrap());
    assert_eq!(counted(&attempt), (3, 0));
    drop(attempt);
    let mut attempt = setting.start(&snapshot).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..3));
    assert_eq!(counted(&attempt), (0, 0), "the restored checkpoint has counted them");
    attempt.write(1).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..5));
    assert_eq!(counted(&attempt), (2, 2));
}

/// MS-008: one notification may stand for several checkpoints, and come late.
#[test]
fn ms_008_a_commit_covers_all_earlier_checkpoints() {
    let (memory, setting) = memory();
    let mut attempt =
        Setting { sink: FileSink::lines(DIR).roll_size(1), ..setting }.start(&Snapshot::default()).unwrap();
    for _ in 0..3 {
        attempt.write(1).unwrap();
        for work in attempt.barrier(false).unwrap().1 {
            work().unwrap();
        }
    }
    attempt.commit(2).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
    attempt.commit(1).unwrap();
    attempt.commit(2).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
    attempt.commit(3).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..3));
}

#[test]
fn ms_032_checkpoints_without_data_make_no_files_and_no_work() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    let before = names(&memory);
    for _ in 0..600 {
        attempt.clock.advance(Duration::from_millis(100));
        let now = crate::clock::Clock::now(&*attempt.clock);
        assert_eq!(attempt.sinks[0].tick(now).unwrap(), Some(now + Duration::from_secs(60)));
        let (snapshot, works) = attempt.barrier(false).unwrap();
        assert!(works.is_empty());
        assert_eq!(snapshot.state.len(), 1, "the counter alone");
        attempt.commit(snapshot.id).unwrap();
    }
    assert_eq!(names(&memory), before);
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(visible(&memory), Vec::<String>::new());
}

/// 10 records a second, a checkpoint every 100 ms, a file a minute: 3 minutes make 3 files, not 1,800.
#[test]
fn ms_032_the_number_of_files_follows_the_rolling_rule() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    let mut durable = Snapshot::default();
    for _ in 0..1800 {
        attempt.write(1).unwrap();
        attempt.clock.advance(Duration::from_millis(100));
        let now = crate::clock::Clock::now(&*attempt.clock);
        attempt.sinks[0].tick(now).unwrap();
        attempt.checkpoint(false, &mut durable).unwrap();
    }
    assert_eq!(visible(&memory), ["part-0-0", "part-0-1", "part-0-2"]);
    assert_eq!(visible_lines(&memory), lines(0..1800));
}

#[test]
fn an_inactive_file_is_closed_and_the_tick_says_when() {
    let (memory, setting) = memory();
    let sink = FileSink::lines(DIR).roll_when_inactive(Duration::from_secs(10));
    let mut attempt = Setting { sink, ..setting }.start(&Snapshot::default()).unwrap();
    let secs = Duration::from_secs;
    attempt.write(1).unwrap();
    assert_eq!(
        attempt.sinks[0].tick(secs(3)).unwrap(),
        Some(secs(13)),
        "the record came between 0 s and 3 s"
    );
    assert_eq!(attempt.sinks[0].tick(secs(12)).unwrap(), Some(secs(13)));
    attempt.write(1).unwrap();
    assert_eq!(attempt.sinks[0].tick(secs(13)).unwrap(), Some(secs(23)));
    assert_eq!(attempt.sinks[0].tick(secs(23)).unwrap(), Some(secs(33)), "a file begun now is due then");
    attempt.checkpoint(false, &mut Snapshot::default()).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
}

/// MS-030: nothing was changed by the refused start, and the flag counts what it gives up.
#[test]
fn ms_030_a_pending_file_that_was_deleted() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    attempt.write(3).unwrap();
    let (snapshot, works) = attempt.barrier(true).unwrap();
    works.into_iter().for_each(|work| work().unwrap());
    drop(attempt);
    let name = format!(".part-0-0.{JOB}.1.uncommitted");
    memory.remove(&at(&name)).unwrap();
    put(&memory, &format!(".part-0-9.{JOB}.1.uncommitted"), b"leftover");

    let error = setting.start(&snapshot).err().unwrap();
    assert_eq!(error.class, Class::Fatal);
    // 3 lines: "0:.", "1:x.", "2:xx.", each with an LF: 4 + 5 + 6 bytes.
    let message = format!(
        "commit: {DIR}/{name}: the file is gone, under this name and under its final one; 15 bytes of it belong to \
         checkpoint 1 and would be lost"
    );
    assert_eq!(error.to_string(), message);
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("ignore_missing") && hint.contains("the directory that the job wrote to before"),
        "{hint}"
    );
    assert_eq!(hidden(&memory).len(), 1, "the refused start deleted nothing");

    let setting = Setting { sink: FileSink::lines(DIR).ignore_missing(true), ..setting };
    let mut attempt = setting.start(&snapshot).unwrap();
    assert_eq!(setting.sink.lost_files(), 1);
    attempt.write(2).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(visible_lines(&memory), lines(3..5));
}

/// The same while the job runs: the commit itself notices.
#[test]
fn ms_030_a_pending_file_that_is_deleted_between_pre_commit_and_commit() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    attempt.write(3).unwrap();
    attempt.barrier(true).unwrap();
    memory.remove(&at(&hidden(&memory)[0])).unwrap();
    let error = attempt.commit(1).unwrap_err();
    assert_eq!(error.class, Class::Fatal);
    assert!(error.to_string().contains("belong to checkpoint 1"), "{error}");
}

#[test]
fn ms_034_files_that_are_there_are_not_touched_and_names_go_on_above_them() {
    let (memory, setting) = memory();
    let foreign = [
        "part-0-0",
        "part-0-7.txt",
        "part-1-3",
        ".part-0-8.ffff.1.uncommitted",
        ".part-0-2.x",
        "notes",
        ".hidden",
    ];
    for name in foreign {
        put(&memory, name, name.as_bytes());
    }
    let setting = Setting { parallelism: 2, ..setting };
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    attempt.write(4).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    let mut expected: Vec<_> = foreign.iter().map(|name| (*name).to_owned()).collect();
    expected.extend(["part-0-9".to_owned(), "part-1-4".to_owned()]);
    expected.sort();
    assert_eq!(names(&memory), expected);
    for name in foreign {
        assert_eq!(read_all(&memory, &at(name)).unwrap(), name.as_bytes(), "{name}");
    }
}

#[test]
fn ms_034_a_visible_file_that_appears_meanwhile_is_not_replaced() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    attempt.write(2).unwrap();
    let (snapshot, _) = attempt.barrier(true).unwrap();
    put(&memory, "part-0-0", b"foreign");
    let error = attempt.commit(1).unwrap_err();
    assert_eq!((error.class, error.at.as_str()), (Class::Fatal, "/out/part-0-0"));
    assert_eq!(read_all(&memory, &at("part-0-0")).unwrap(), b"foreign");
    let hint = error.hint.unwrap();
    assert!(hint.contains("an output directory of its own"), "{hint}");
    memory.rename(&at("part-0-0"), &at("elsewhere")).unwrap();
    setting.start(&snapshot).unwrap();
    assert_eq!(read_all(&memory, &at("part-0-0")).unwrap().len(), 9);
}

/// Ruling 5: a start removes only what its own line left, and of that only what no retained checkpoint names.
#[test]
fn ruling_5_leftovers_of_the_own_line_are_removed_and_no_others() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    attempt.write(3).unwrap();
    let (retained, _) = attempt.barrier(true).unwrap();
    attempt.write(3).unwrap();
    attempt.barrier(true).unwrap();
    drop(attempt);
    let other_line = format!(".part-0-5.{JOB}.2.uncommitted");
    put(&memory, &other_line, b"x");
    let name = |n| format!(".part-0-{n}.{JOB}.1.uncommitted");
    assert_eq!(hidden(&memory).len(), 3);
    let cx = SinkContext { storage: Arc::new(memory.clone()), ..sink_context(0, 1).0 };
    setting.sink.clone().prepare(&cx, &[], &retained.state).unwrap();
    assert_eq!(hidden(&memory), [name(0), other_line.clone()]);
    setting.sink.clone().prepare(&cx, &[], &[]).unwrap();
    assert_eq!(hidden(&memory), [other_line]);
}

/// Ruling 7: without checkpoints everything is committed once, at the end; what a crash left of such a run is cleared
/// away by the next, and files that a checkpoint of the same job counts on are not.
#[test]
fn ruling_7_a_run_without_checkpoints() {
    let (memory, setting) = memory();
    let mut attempt = setting.start(&Snapshot::default()).unwrap();
    attempt.write(1).unwrap();
    drop(attempt.barrier(true).unwrap());
    let pending = hidden(&memory);

    let once =
        || SinkContext { checkpointing: false, storage: Arc::new(memory.clone()), ..sink_context(0, 1).0 };
    for crashes in [true, false] {
        let mut sink = FileSink::<String, _>::lines(DIR).roll_size(8);
        sink.prepare(&once(), &[], &[]).unwrap();
        sink.open(once(), vec![]).unwrap();
        for n in 10..15 {
            sink.write(&line(n)).unwrap();
        }
        assert_eq!(visible(&memory), Vec::<String>::new());
        if crashes {
            continue;
        }
        let sealed = sink.pre_commit(Epoch { id: CheckpointId::FIRST, close: true }).unwrap();
        sealed.work.unwrap()().unwrap();
        sink.commit(CheckpointId::FIRST).unwrap();
        sink.close().unwrap();
    }
    for seed in 0..20 {
        assert_eq!(visible_lines(&memory.crash_image(seed)), lines(10..15), "after a power cut");
    }
    assert_eq!(hidden(&memory), pending);
}

/// Ruling 5: a checkpoint of another line is started from twice, its files are neither cut nor renamed away.
#[test]
fn ruling_5_a_file_of_another_line_is_copied() {
    let (memory, setting) = memory();
    let mut snapshot = Snapshot::default();
    let mut first = setting.start(&snapshot).unwrap();
    first.write(4).unwrap();
    first.checkpoint(false, &mut snapshot).unwrap();
    first.write(4).unwrap();
    drop(first.barrier(false).unwrap());
    let original = format!(".part-0-0.{JOB}.1.uncommitted");
    let before = read_all(&memory, &at(&original)).unwrap();
    for (line, number) in [(2, 1), (3, 2)] {
        let setting = Setting { line, ..Setting::new(Arc::new(memory.clone())) };
        let mut other = setting.start(&snapshot).unwrap();
        other.write(2).unwrap();
        other.checkpoint(true, &mut snapshot.clone()).unwrap();
        let written = read_all(&memory, &at(&format!("part-0-{number}"))).unwrap();
        assert_eq!(written, (0..6).map(line_of).collect::<String>().into_bytes());
        assert_eq!(read_all(&memory, &at(&original)).unwrap(), before);
    }
}

fn line_of(n: u64) -> String {
    format!("{}\n", line(n))
}

/// MS-072: cut what a killed process wrote last, by hand, and start again.
#[test]
fn ms_072_a_cut_tail_is_exact_or_named() {
    for cut in [1, 7, 15, 16, 64, 4096] {
        let (memory, setting) = memory();
        let mut snapshot = Snapshot::default();
        let mut attempt = setting.start(&snapshot).unwrap();
        attempt.write(3).unwrap();
        attempt.checkpoint(false, &mut snapshot).unwrap();
        attempt.write(3).unwrap();
        drop(attempt.barrier(false).unwrap());
        drop(attempt);
        let path = at(&format!(".part-0-0.{JOB}.1.uncommitted"));
        // Records 3, 4, 5 after the checkpoint: 7 + 8 + 4 bytes; 15 before it.
        let len = memory.stat(&path).unwrap().len;
        assert_eq!(len, 34);
        let left = len.saturating_sub(cut);
        drop(memory.append(&path, left).unwrap());
        match setting.start(&snapshot) {
            Ok(mut again) => {
                assert!(left >= 15);
                again.write(5).unwrap();
                again.checkpoint(true, &mut snapshot).unwrap();
                assert_eq!(visible_lines(&memory), lines(0..8), "cut {cut}");
            }
            Err(error) => {
                assert!(left < 15, "cut {cut}: {error}");
                assert!(
                    error.to_string().contains(&format!("was cut to {left} bytes; 15 bytes of it")),
                    "{error}"
                );
                assert_eq!(error.at, path.display().to_string());
            }
        }
    }
}

#[test]
fn ms_009_a_directory_that_cannot_be_used_is_found_at_the_start_and_named() {
    let (memory, setting) = memory();
    memory.create(Path::new("/x")).unwrap();
    let setting = Setting { sink: FileSink::lines("/x/out"), ..setting };
    let error = setting.start(&Snapshot::default()).err().unwrap();
    assert_eq!(error.class, Class::Restart, "whether it is the first start is for the engine to know");
    assert_eq!(error.to_string(), "create directory: /x/out: not a directory");

    let storage = FaultStorage::new(Arc::new(memory));
    storage.fail_every(Op::Create, Some(Fault::Before(13)));
    let error = Setting::new(Arc::new(storage)).start(&Snapshot::default()).err().unwrap();
    assert_eq!(error.class, Class::Restart, "whether it is the first start is for the engine to know");
    assert!(error.to_string().starts_with("create: /out/.part-probe"), "{error}");
    assert!(error.to_string().ends_with("Permission denied (os error 13)"), "{error}");
}

/// MS-007: no file can be created for one interval. That checkpoint fails, the job goes on, the next one has it all.
#[test]
fn ms_007_an_unwritable_directory_fails_the_checkpoint_and_not_the_job() {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let mut durable = Snapshot::default();
    let mut attempt = Setting::new(Arc::new(storage.clone())).start(&durable).unwrap();
    attempt.write(2).unwrap();
    attempt.checkpoint(true, &mut durable).unwrap();
    storage.fail_every(Op::Create, Some(Fault::Before(13)));
    for _ in 0..2 {
        attempt.write(3).unwrap();
        let (_, works) = attempt.barrier(false).expect("the attempt goes on");
        let error = works.into_iter().find_map(|work| work().err()).expect("the checkpoint is declined");
        assert!(error.to_string().starts_with("create: /out/.part-0-1"), "{error}");
    }
    storage.fail_every(Op::Create, None);
    attempt.write(1).unwrap();
    attempt.checkpoint(true, &mut durable).unwrap();
    assert_eq!((durable.id, durable.position), (4, 9));
    assert_eq!(visible_lines(&memory), lines(0..9));
}

/// MS-007: the directory cannot be synced for one checkpoint; the next one makes up for it.
#[test]
fn ms_007_what_one_checkpoint_could_not_sync_the_next_one_does() {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let mut durable = Snapshot::default();
    let mut attempt = Setting::new(Arc::new(storage.clone())).start(&durable).unwrap();
    attempt.write(2).unwrap();
    storage.fail_nth(Op::SyncDir, 0, Fault::Before(13));
    let error = attempt.checkpoint(true, &mut durable).unwrap_err();
    assert!(error.to_string().starts_with("sync directory: /out"), "{error}");
    attempt.checkpoint(false, &mut durable).unwrap();
    // A power cut may take the last renames back, as these become durable with the next checkpoint; nothing else.
    for seed in 0..16 {
        let image = memory.crash_image(seed);
        Setting::new(Arc::new(image.clone())).start(&durable).unwrap();
        assert_eq!(visible_lines(&image), lines(0..2), "seed {seed}");
    }
}

/// Habit 10: after a failed sync the attempt ends; the sync is not repeated.
#[test]
fn a_failed_sync_ends_the_attempt_at_the_next_barrier() {
    for close in [true, false] {
        let memory = MemoryStorage::new();
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        let setting = Setting::new(Arc::new(storage.clone()));
        let mut durable = Snapshot::default();
        let mut attempt = setting.start(&durable).unwrap();
        attempt.write(2).unwrap();
        storage.fail_nth(Op::Sync, 0, Fault::Before(5));
        let error = attempt.checkpoint(close, &mut durable).unwrap_err();
        assert!(error.to_string().contains("Input/output error"), "{error}");
        let error = attempt.barrier(close).err().expect("the attempt ends, not only the checkpoint");
        assert_eq!(error.class, Class::Restart);
        let syncs = storage.coverage().iter().find(|(op, _)| *op == Op::Sync).unwrap().1;
        assert_eq!(syncs, 1);
        let mut again = setting.start(&durable).unwrap();
        again.write(2).unwrap();
        again.checkpoint(true, &mut durable).unwrap();
        assert_eq!(visible_lines(&memory), lines(0..2));
    }
}

/// MS-069: path and cause are named, what was committed stays, a restart after space was made is exact.
#[test]
fn ms_069_a_full_disk() {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let setting = Setting::new(Arc::new(storage.clone()));
    let mut durable = Snapshot::default();
    let mut attempt = setting.start(&durable).unwrap();
    attempt.write(10).unwrap();
    attempt.checkpoint(true, &mut durable).unwrap();
    storage.set_room(Some(10));
    attempt.write(10).unwrap();
    let error = attempt.checkpoint(false, &mut durable).unwrap_err();
    assert_eq!(error.class, Class::Restart);
    assert_eq!(
        error.to_string(),
        format!("write: /out/.part-0-1.{JOB}.1.uncommitted: No space left on device (os error 28)")
    );
    assert_eq!(visible_lines(&memory), lines(0..10));
    storage.set_room(None);
    let mut again = setting.start(&durable).unwrap();
    again.write(10).unwrap();
    again.checkpoint(true, &mut durable).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..20));
}

/// SK-06: names never repeat, whatever the parallelism was and is.
#[test]
fn rescaling_never_repeats_a_name() {
    let (memory, _) = memory();
    let mut durable = Snapshot::default();
    let mut seen = Vec::new();
    for parallelism in [1, 3, 2, 3, 1] {
        let setting = Setting { parallelism, ..Setting::new(Arc::new(memory.clone())) };
        let mut attempt = setting.start(&durable).unwrap();
        attempt.write(6).unwrap();
        attempt.checkpoint(true, &mut durable).unwrap();
        // From the next checkpoint on the files are nobody's business any more. Somebody takes them away: only the
        // counter keeps their names from being used again.
        attempt.checkpoint(false, &mut durable).unwrap();
        for name in visible(&memory) {
            assert!(!seen.contains(&name), "{name} again");
            memory.remove(&at(&name)).unwrap();
            seen.push(name);
        }
    }
    assert_eq!(seen.len(), 1 + 3 + 2 + 3 + 1);
}

/// A power cut may take a rename back that no checkpoint remembers to repeat, unless its name was synced first.
#[test]
fn a_commit_is_remembered_until_it_is_durable() {
    for seed in 0..50 {
        let (memory, setting) = memory();
        let setting = Setting { sink: FileSink::lines(DIR).roll_size(1), ..setting };
        let mut durable = Snapshot::default();
        let mut attempt = setting.start(&durable).unwrap();
        for _ in 0..seed % 5 {
            attempt.write(1).unwrap();
            attempt.checkpoint(false, &mut durable).unwrap();
        }
        drop(attempt);
        let left = memory.crash_image(seed);
        Setting { storage: Arc::new(left.clone()), ..setting }.start(&durable).unwrap();
        assert_eq!(visible_lines(&left), lines(0..durable.position), "seed {seed}");
    }
}

#[test]
fn a_committed_file_that_a_reader_took_away_does_not_stop_a_restart() {
    let (memory, setting) = memory();
    let setting = Setting { sink: FileSink::lines(DIR).roll_size(1), ..setting };
    let mut durable = Snapshot::default();
    let mut attempt = setting.start(&durable).unwrap();
    attempt.write(1).unwrap();
    attempt.checkpoint(false, &mut durable).unwrap();
    memory.remove(&at("part-0-0")).unwrap();
    attempt.write(1).unwrap();
    attempt.checkpoint(false, &mut durable).unwrap();
    setting.start(&durable).unwrap();
    assert_eq!(visible_lines(&memory), lines(1..2));
}

#[test]
fn a_file_holds_at_most_the_roll_size_and_one_record() {
    let (memory, setting) = memory();
    let sink = FileSink::lines(DIR).roll_size(300_000);
    let mut attempt = Setting { sink, ..setting }.start(&Snapshot::default()).unwrap();
    attempt.write(100_000).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    let lens: Vec<_> = visible(&memory).iter().map(|name| memory.stat(&at(name)).unwrap().len).collect();
    let total: u64 = (0..100_000).map(|n| line_of(n).len() as u64).sum();
    assert_eq!(lens.iter().sum::<u64>(), total);
    let (last, full) = lens.split_last().unwrap();
    assert!(full.iter().all(|len| (300_000..300_016).contains(len)), "{lens:?}");
    assert!(*last < 300_016);
}

/// Also where every barrier finds less than that in the buffer.
#[test]
fn a_file_holds_at_most_the_roll_size_and_one_record_however_often_barriers_come() {
    let (memory, setting) = memory();
    let sink = FileSink::lines(DIR).roll_size(1_000);
    let mut attempt = Setting { sink, ..setting }.start(&Snapshot::default()).unwrap();
    let mut durable = Snapshot::default();
    for _ in 0..100 {
        attempt.write(10).unwrap();
        attempt.checkpoint(false, &mut durable).unwrap();
    }
    attempt.checkpoint(true, &mut durable).unwrap();
    let lens: Vec<_> = visible(&memory).iter().map(|name| memory.stat(&at(name)).unwrap().len).collect();
    let (last, full) = lens.split_last().unwrap();
    assert!(full.iter().all(|len| (1_000..1_016).contains(len)) && *last < 1_016, "{lens:?}");
    assert_eq!(visible_lines(&memory), lines(0..1_000));
}

/// More files in an epoch than are held open: all of them are durable and visible in the end.
#[test]
fn many_small_files_in_one_epoch() {
    let (memory, setting) = memory();
    let mut attempt =
        Setting { sink: FileSink::lines(DIR).roll_size(1), ..setting }.start(&Snapshot::default()).unwrap();
    attempt.write(500).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(visible_lines(&memory.crash_image(0)), lines(0..500));
}

#[test]
fn a_sink_that_was_not_opened_says_so() {
    let mut sink: Lined = FileSink::lines(DIR);
    assert!(sink.write("x").unwrap_err().to_string().contains("not opened"));
    assert!(sink.commit(CheckpointId(1)).is_err());
}

/// The same on the machine's own files: a kill in the middle of a file, a torn tail, a restart, a second run.
#[test]
fn on_a_real_disk() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("deep/out");
    let context = || SinkContext { storage: Arc::new(DiskStorage::new()), ..sink_context(0, 1).0 };
    let start = |restored: &[_], id| {
        let mut sink = FileSink::<(Vec<u8>, i64), _>::csv(&out);
        sink.prepare(&context(), restored, &[]).unwrap();
        sink.open(context(), restored.to_vec()).unwrap();
        sink.commit(CheckpointId(id)).unwrap();
        sink
    };
    let checkpoint = |sink: &mut FileSink<(Vec<u8>, i64), _>, id, close| {
        let sealed = sink.pre_commit(Epoch { id: CheckpointId(id), close }).unwrap();
        if let Some(work) = sealed.work {
            work().unwrap();
        }
        sealed.state
    };
    let mut first = start(&[], 0);
    first.write((b"a,b", 1)).unwrap();
    let state = checkpoint(&mut first, 1, false);
    first.commit(CheckpointId(1)).unwrap();
    first.write((b"lost", 2)).unwrap();
    checkpoint(&mut first, 2, false);
    drop(first);

    let mut second = start(&state, 1);
    second.write((b"c", -2)).unwrap();
    checkpoint(&mut second, 2, true);
    second.commit(CheckpointId(2)).unwrap();
    drop(second);
    assert_eq!(std::fs::read_to_string(out.join("part-0-0.csv")).unwrap(), "\"a,b\",1\nc,-2\n");

    let mut third = start(&[], 0);
    third.write((b"d", 3)).unwrap();
    checkpoint(&mut third, 1, true);
    third.commit(CheckpointId(1)).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["part-0-0.csv", "part-0-1.csv"]);
}
