//! Input that is followed.

use super::*;
use crate::format::Lines;

fn follow(world: &World, names: &[&str]) -> FileSource<Lines> {
    world.lines(names).follow(true)
}

/// Runs at several degrees of parallelism, on disk and in memory.
fn everywhere(test: impl Fn(World, usize)) {
    for parallelism in [1, 3] {
        for world in World::both() {
            test(world, parallelism);
        }
    }
}

#[test]
fn appended_lines_and_new_files_are_read_and_the_source_never_ends() {
    everywhere(|world, parallelism| {
        world.write("a", "1\n");
        let mut running = Running::fresh(&world, &follow(&world, &[""]), parallelism);
        running.drain().unwrap();
        assert_eq!(running.sorted(), ["1"]);
        world.write("a", "2\n");
        world.write("sub/b", "3\n");
        running.look(&world);
        assert_eq!(running.sorted(), ["2", "3"]);
        running.look(&world);
        assert_eq!(running.sorted(), [""; 0]);
        for subtask in 0..parallelism {
            let due = crate::clock::Clock::now(&*world.clock) + Duration::from_millis(100);
            assert_eq!(running.poll(subtask).unwrap(), Poll::Idle(Some(due)), "MS-081: waits between looks");
        }
    });
}

#[test]
fn ms053_ms054_a_new_file_is_read_whatever_its_time() {
    let world = World::disk();
    world.write("a", "1\n");
    let mut running = Running::fresh(&world, &follow(&world, &[""]), 2);
    running.drain().unwrap();
    let year = Duration::from_secs(365 * 24 * 3600);
    for (name, back) in [("b", Duration::ZERO), ("c", year)] {
        world.write(name, format!("{name}\n"));
        set_time_of(&world.path(name), &world.path("a"), back);
    }
    running.look(&world);
    assert_eq!(running.sorted(), ["1", "b", "c"]);
}

/// Past the storage, which knows no times of files.
fn set_time_of(file: &Path, like: &Path, back: Duration) {
    let time = std::fs::metadata(like).unwrap().modified().unwrap() - back;
    std::fs::File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn ms055_rotation_by_rename_live() {
    everywhere(|world, parallelism| {
        world.write("app.log", text(&numbered(1..11)));
        for names in [&[""][..], &["app.log"]] {
            let mut running = Running::fresh(&world, &follow(&world, names), parallelism);
            running.drain().unwrap();
            world.write("app.log", "late\n");
            world.rename("app.log", "app.log.1");
            world.write("app.log", text(&numbered(11..21)));
            running.look(&world);
            world.write("app.log.1", "later still\n");
            running.look(&world);
            let mut want = [numbered(1..21), vec!["late".into(), "later still".into()]].concat();
            want.sort();
            assert_eq!(running.sorted(), want);
            world.remove("app.log");
            world.remove("app.log.1");
            world.write("app.log", text(&numbered(1..11)));
        }
    });
}

#[test]
fn ms055_rotation_by_rename_while_stopped() {
    everywhere(|world, parallelism| {
        for names in [&[""][..], &["app.log"]] {
            world.write("app.log", text(&numbered(1..8)));
            let source = follow(&world, names);
            let mut running = Running::fresh(&world, &source, parallelism);
            running.drain().unwrap();
            let state = running.snapshot();
            let mut got = running.take();
            world.write("app.log", text(&numbered(8..11)));
            world.rename("app.log", "app.log.1");
            world.rename("app.log.1", "app.log.2");
            world.write("app.log", text(&numbered(11..21)));
            let mut next = Running::restored(&world, &source, 2, state);
            next.drain().unwrap();
            let again = next.snapshot();
            got.extend(next.take());
            let mut third = Running::restored(&world, &source, 1, again);
            third.drain().unwrap();
            got.extend(third.take());
            got.sort();
            let mut want = numbered(1..21);
            want.sort();
            assert_eq!(got, want, "input {names:?}");
            world.remove("app.log");
            world.remove("app.log.2");
        }
    });
}

#[test]
fn ms056_copytruncate_starts_over() {
    everywhere(|world, parallelism| {
        let old: Vec<String> = (0..10).map(|i| format!("line-{i:03}x")).collect();
        world.write("log", text(&old));
        let mut running = Running::fresh(&world, &follow(&world, &["log"]), parallelism);
        running.drain().unwrap();
        world.write("copy", text(&old));
        world.truncate("log");
        running.look(&world);
        world.write("log", "abcd\nefgh\nijkl\n");
        running.look(&world);
        let got = running.sorted();
        assert_eq!(got.len(), 13);
        assert_eq!(got[..3], ["abcd", "efgh", "ijkl"]);
    });
}

#[test]
fn ms056_truncated_and_grown_beyond_the_old_offset_before_the_next_look() {
    everywhere(|world, parallelism| {
        let old: Vec<String> = (0..10).map(|i| format!("line-{i:03}x")).collect();
        // Lines of the same length: the old offset falls between two lines.
        let new: Vec<String> = (0..30).map(|i| format!("othr-{i:03}y")).collect();
        world.write("log", text(&old));
        let mut running = Running::fresh(&world, &follow(&world, &["log"]), parallelism);
        running.drain().unwrap();
        assert_eq!(running.take(), old);
        world.truncate("log");
        world.write("log", text(&new));
        running.look(&world);
        assert_eq!(running.take(), new);
    });
}

/// A file of one long line and `old`, which is cut and gets this behind the same long line, whose lines come again.
/// More than a fingerprint covers stays the same.
fn starts_over_with(rest: &str) {
    let world = World::memory();
    let same = "x".repeat(1500);
    world.write("log", format!("{same}\nold\n"));
    let mut running = Running::fresh(&world, &follow(&world, &["log"]), 1);
    running.drain().unwrap();
    assert_eq!(running.take(), [same.clone(), "old".into()]);
    world.truncate("log");
    let new = format!("{same}\n{rest}");
    world.write("log", new.clone());
    running.look(&world);
    assert_eq!(running.take(), new.lines().collect::<Vec<_>>());
}

#[test]
fn ms056_the_same_beginning_but_no_line_end_in_front_of_the_position_starts_over() {
    // The position would fall into the middle of a line.
    starts_over_with("newer than that\n");
}

#[test]
fn ms056_the_same_beginning_but_shorter_starts_over() {
    starts_over_with("");
}

#[test]
fn ms057_a_partial_last_line_waits_and_a_crash_in_between_loses_nothing() {
    everywhere(|world, parallelism| {
        world.write("a", "before\nhel");
        let source = follow(&world, &["a"]);
        let mut running = Running::fresh(&world, &source, parallelism);
        running.drain().unwrap();
        running.look(&world);
        assert_eq!(running.take(), ["before"]);
        let state = running.snapshot();
        assert_eq!(state.iter().map(FileSplit::position).collect::<Vec<_>>(), [7]);
        let mut next = Running::restored(&world, &source, parallelism, state);
        next.drain().unwrap();
        for running in [&mut running, &mut next] {
            assert_eq!(running.take(), [""; 0]);
        }
        world.write("a", "lo\n");
        for running in [&mut running, &mut next] {
            world.clock.advance(Duration::from_millis(100));
            running.drain().unwrap();
            assert_eq!(running.take(), ["hello"]);
        }
    });
}

#[test]
fn a_deleted_file_is_read_to_its_end_and_forgotten() {
    everywhere(|world, parallelism| {
        world.write("a", "1\n");
        let mut running = Running::fresh(&world, &follow(&world, &[""]), parallelism);
        running.drain().unwrap();
        world.write("a", "2\n3");
        world.remove("a");
        running.look(&world);
        assert_eq!(running.sorted(), ["1", "2", "3"]);
        running.look(&world);
        assert_eq!(running.snapshot(), []);
        world.write("a", "1\n4\n");
        running.look(&world);
        assert_eq!(running.sorted(), ["1", "4"], "another file of that name is a new one");
    });
}

#[test]
fn a_file_put_back_from_a_copy_is_known_again_by_its_content() {
    everywhere(|world, parallelism| {
        let source = follow(&world, &[""]);
        world.write("a", text(&numbered(0..5)));
        let mut running = Running::fresh(&world, &source, parallelism);
        running.drain().unwrap();
        let state = running.snapshot();
        world.remove("a");
        world.write("a", text(&numbered(0..7)));
        let mut next = Running::restored(&world, &source, 2, state);
        next.drain().unwrap();
        assert_eq!(next.take(), numbered(5..7));
    });
}

#[test]
fn a_header_csv_that_is_followed_waits_for_whole_records() {
    let world = World::memory();
    world.write("a", b"\xef\xbb");
    let mut running = Running::fresh(&world, &world.csv(&["a"]).follow(true).header(true), 1);
    running.drain().unwrap();
    for (more, want) in [
        (&b"\xbfk,v\r"[..], vec![]),
        (b"\n1,\"a\n", vec![]),
        (b"b\"", vec![]),
        (b"\"c\"\n2", vec!["1,\"a\nb\"\"c\""]),
        (b"\n", vec!["2"]),
    ] {
        world.write("a", more);
        running.look(&world);
        assert_eq!(running.take(), want);
    }
}

#[test]
fn a_line_too_long_is_passed_over_as_it_grows() {
    everywhere(|world, parallelism| {
        let source = follow(&world, &[""]).max_record_size(100).bad_records(BadRecordPolicy::Skip);
        let mut running = Running::fresh(&world, &source, parallelism);
        for i in 0..10 {
            world.write("a", "x".repeat(60));
            world.write("b", format!("{i}\n"));
            running.look(&world);
        }
        assert_eq!(rejected(&running.scene), (0, 0));
        assert!(running.snapshot().iter().all(|split| split.path().ends_with("b")));
        world.write("a", "\nok\n");
        running.look(&world);
        assert_eq!(running.sorted(), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "ok"]);
        assert_eq!(rejected(&running.scene), (1, 1));
    });
}

#[test]
fn many_files_that_grow_are_all_read() {
    let world = World::memory();
    let mut running = Running::fresh(&world, &follow(&world, &[""]), 2);
    let mut want = Vec::new();
    for round in 0..3 {
        for i in 0..200 {
            world.write(&format!("f{i}"), format!("{round}-{i}\n"));
            want.push(format!("{round}-{i}"));
        }
        running.look(&world);
    }
    want.sort();
    assert_eq!(running.sorted(), want);
}

#[test]
fn a_bad_record_at_the_place_of_an_earlier_one_of_a_truncated_file_is_kept_too() {
    for world in World::both() {
        let bad = BadRecordPolicy::DeadLetter(world.path("bad"));
        let source = world.lines(&["log"]).max_record_size(5).follow(true).bad_records(bad);
        world.write("log", "first long\nok 1\n");
        let mut running = Running::fresh(&world, &source, 1);
        running.drain().unwrap();
        // The same record again, by the same attempt; then, after a restart, another one.
        for next in ["first long\n", "other long\n"] {
            world.truncate("log");
            running.look(&world);
            world.write("log", next);
            running.look(&world);
            let state = running.snapshot();
            running = Running::restored(&world, &source, 1, state);
            running.drain().unwrap();
        }
        let kept = file(&world, &world.path("bad/source-0.rejected"));
        let raw: Vec<_> = kept.lines().filter(|line| line.ends_with(" long")).collect();
        assert_eq!(raw, ["first long", "first long", "other long"]);
    }
}
