//! What a restart finds.

use super::harness::*;
use crate::connector::FileSink;
use crate::connector::testing::sink_context;
use crate::error::Class;
use crate::id::CheckpointId;
use crate::sink::{Epoch, Sink, SinkContext};
use crate::storage::{DiskStorage, Storage};
use std::sync::Arc;

/// MS-030: nothing was changed by the refused start, and the flag counts what it gives up.
#[test]
fn ms_030_a_pending_file_that_was_deleted() {
    let (memory, setting) = memory();
    let mut attempt = setting.first();
    attempt.write(3).unwrap();
    let snapshot = attempt.pre_commit(true);
    drop(attempt);
    let name = pending(0);
    memory.remove(&at(&name)).unwrap();
    put(&memory, &pending(9), b"leftover");

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
    let mut attempt = setting.first();
    attempt.write(3).unwrap();
    attempt.barrier(true).unwrap();
    memory.remove(&at(&hidden(&memory)[0])).unwrap();
    let error = attempt.commit(1).unwrap_err();
    assert_eq!(error.class, Class::Fatal);
    assert!(error.to_string().contains("belong to checkpoint 1"), "{error}");
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
        let path = at(&pending(0));
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
fn a_committed_file_that_a_reader_took_away_does_not_stop_a_restart() {
    let (memory, setting) = memory();
    let setting = setting.rolling(1);
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

/// On the machine's own files: a kill in the middle of a file, a torn tail, a restart, a second run.
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
