//! Files that others have put, or left, into the directory.

use super::harness::*;
use crate::connector::testing::sink_context;
use crate::error::Class;
use crate::sink::{Sink, SinkContext};
use crate::storage::{Storage, read_all};
use std::sync::Arc;

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
    let mut attempt = setting.first();
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
    let mut attempt = setting.first();
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
    let mut attempt = setting.first();
    attempt.write(3).unwrap();
    let (retained, _) = attempt.barrier(true).unwrap();
    attempt.write(3).unwrap();
    attempt.barrier(true).unwrap();
    drop(attempt);
    let other_line = format!(".part-0-5.{JOB}.2.uncommitted");
    put(&memory, &other_line, b"x");
    assert_eq!(hidden(&memory).len(), 3);
    let cx = SinkContext { storage: Arc::new(memory.clone()), ..sink_context(0, 1).0 };
    setting.sink.clone().prepare(&cx, &[], &retained.state).unwrap();
    assert_eq!(hidden(&memory), [pending(0), other_line.clone()]);
    setting.sink.clone().prepare(&cx, &[], &[]).unwrap();
    assert_eq!(hidden(&memory), [other_line]);
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
    let original = pending(0);
    let before = read_all(&memory, &at(&original)).unwrap();
    for (later, number) in [(2, 1), (3, 2)] {
        let setting = Setting { line: later, ..Setting::new(&memory) };
        let mut other = setting.start(&snapshot).unwrap();
        other.write(2).unwrap();
        other.checkpoint(true, &mut snapshot.clone()).unwrap();
        let written = read_all(&memory, &at(&format!("part-0-{number}"))).unwrap();
        assert_eq!(written, (0..6).map(|n| line(n) + "\n").collect::<String>().into_bytes());
        assert_eq!(read_all(&memory, &at(&original)).unwrap(), before);
    }
}

/// SK-06: names never repeat, whatever the parallelism was and is.
#[test]
fn rescaling_never_repeats_a_name() {
    let (memory, _) = memory();
    let mut durable = Snapshot::default();
    let mut seen = Vec::new();
    for parallelism in [1, 3, 2, 3, 1] {
        let setting = Setting { parallelism, ..Setting::new(&memory) };
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
