//! What a checkpoint makes visible.

use super::harness::*;
use crate::connector::FileSink;
use crate::connector::testing::sink_context;
use crate::id::CheckpointId;
use crate::sink::{Epoch, Sink, SinkContext};
use std::sync::Arc;

#[test]
fn ms_029_the_last_file_is_finished_at_the_end() {
    let (memory, setting) = memory();
    let mut attempt = setting.rolling(1 << 30).first();
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
    let mut attempt = setting.rolling(1).first();
    attempt.write(2).unwrap();
    let (snapshot, works) = attempt.barrier(false).unwrap();
    attempt.write(1).unwrap();
    works.into_iter().for_each(|work| work().unwrap());
    assert_eq!(visible_lines(&memory), lines(0..0));
    attempt.commit(snapshot.id).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
    assert_eq!((attempt.counters.records_sealed.get(), attempt.counters.records_out.get()), (3, 2));
    assert_eq!(hidden(&memory), [pending(2)]);
}

/// Ruling 29: a checkpoint counts what is visible once it is complete, the report what is. The record that stands in an
/// open file at the barrier is in neither, until its file is finished: by the attempt that goes on with it.
#[test]
fn ruling_29_a_record_counts_with_its_file() {
    let (memory, setting) = memory();
    let setting = setting.rolling(10);
    let counted =
        |attempt: &Attempt| (attempt.counters.records_sealed.get(), attempt.counters.records_out.get());
    let mut attempt = setting.first();
    // "0:.\n", "1:x.\n" and "2:xx.\n" are 4 + 5 + 6 bytes, which closes the first file.
    attempt.write(4).unwrap();
    assert_eq!(counted(&attempt), (3, 0));
    let snapshot = attempt.pre_commit(false);
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
    let mut attempt = setting.rolling(1).first();
    for _ in 0..3 {
        attempt.write(1).unwrap();
        attempt.pre_commit(false);
    }
    attempt.commit(2).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
    attempt.commit(1).unwrap();
    attempt.commit(2).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
    attempt.commit(3).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..3));
}

/// A power cut may take a rename back that no checkpoint remembers to repeat, unless its name was synced first.
#[test]
fn a_commit_is_remembered_until_it_is_durable() {
    for seed in 0..50 {
        let (memory, setting) = memory();
        let setting = setting.rolling(1);
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

/// Ruling 7: without checkpoints everything is committed once, at the end; what a crash left of such a run is cleared
/// away by the next, and files that a checkpoint of the same job counts on are not.
#[test]
fn ruling_7_a_run_without_checkpoints() {
    let (memory, setting) = memory();
    let mut attempt = setting.first();
    attempt.write(1).unwrap();
    drop(attempt.barrier(true).unwrap());
    let counted_on = hidden(&memory);

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
    assert_eq!(hidden(&memory), counted_on);
}

#[test]
fn a_sink_that_was_not_opened_says_so() {
    let mut sink: Lined = FileSink::lines(DIR);
    assert!(sink.write("x").unwrap_err().to_string().contains("not opened"));
    assert!(sink.commit(CheckpointId(1)).is_err());
}
