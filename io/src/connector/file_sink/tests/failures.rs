//! A directory that cannot be used, a disk that is full, a sync that fails.

use super::harness::*;
use crate::connector::FileSink;
use crate::error::Class;
use crate::storage::Storage;
use crate::storage::fault::{Fault, FaultStorage, Op};
use std::path::Path;
use std::sync::Arc;

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
    let error = Setting::new(&storage).start(&Snapshot::default()).err().unwrap();
    assert_eq!(error.class, Class::Restart, "whether it is the first start is for the engine to know");
    assert!(error.to_string().starts_with("create: /out/.part-probe"), "{error}");
    assert!(error.to_string().ends_with("Permission denied (os error 13)"), "{error}");
}

/// MS-007: no file can be created for one interval. That checkpoint fails, the job goes on, the next one has it all.
#[test]
fn ms_007_an_unwritable_directory_fails_the_checkpoint_and_not_the_job() {
    let (memory, storage, setting) = faulty();
    let mut durable = Snapshot::default();
    let mut attempt = setting.start(&durable).unwrap();
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
    let (memory, storage, setting) = faulty();
    let mut durable = Snapshot::default();
    let mut attempt = setting.start(&durable).unwrap();
    attempt.write(2).unwrap();
    storage.fail_nth(Op::SyncDir, 0, Fault::Before(13));
    let error = attempt.checkpoint(true, &mut durable).unwrap_err();
    assert!(error.to_string().starts_with("sync directory: /out"), "{error}");
    attempt.checkpoint(false, &mut durable).unwrap();
    // A power cut may take the last renames back, as these become durable with the next checkpoint; nothing else.
    for seed in 0..16 {
        let image = memory.crash_image(seed);
        Setting::new(&image).start(&durable).unwrap();
        assert_eq!(visible_lines(&image), lines(0..2), "seed {seed}");
    }
}

/// After a failed sync the attempt ends; the sync is not repeated.
#[test]
fn a_failed_sync_ends_the_attempt_at_the_next_barrier() {
    for close in [true, false] {
        let (memory, storage, setting) = faulty();
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
    let (memory, storage, setting) = faulty();
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
        format!("write: /out/{}: No space left on device (os error 28)", pending(1))
    );
    assert_eq!(visible_lines(&memory), lines(0..10));
    storage.set_room(None);
    let mut again = setting.start(&durable).unwrap();
    again.write(10).unwrap();
    again.checkpoint(true, &mut durable).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..20));
}
