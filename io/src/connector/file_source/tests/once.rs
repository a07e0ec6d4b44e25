//! Input that is read once.

use super::*;
use crate::storage::fault::{Fault, FaultStorage, Op};

#[test]
fn ms064_lines_come_out_byte_for_byte() {
    for world in World::both() {
        let bytes = b"ok1\nk\xffk\na\0b\nok2\n\r\n\n";
        world.write("a", bytes);
        let mut running = Running::fresh(&world, &world.lines(&["a"]), 1);
        running.drain().unwrap();
        let want: [&[u8]; 6] = [b"ok1", b"k\xffk", b"a\0b", b"ok2", b"\r", b""];
        assert_eq!(running.outs[0].records, want);
    }
}

#[test]
fn ms057_a_bounded_last_line_without_lf_counts_once() {
    for world in World::both() {
        world.write("a", "head\ntail");
        let source = world.lines(&["a"]);
        assert_eq!(all(&world, &source), ["head", "tail"]);
        let mut running = Running::fresh(&world, &source, 1);
        assert_eq!(running.poll(0).unwrap(), Poll::More);
        assert_eq!(running.snapshot().len(), 1);
        running.drain().unwrap();
        assert!(running.snapshot().iter().all(|split| split.left() == 0), "a finished file has nothing left");
        world.write("b", "all\nof it\n");
        let mut running = Running::fresh(&world, &world.lines(&["b"]), 1);
        assert_eq!(running.poll(0).unwrap(), Poll::More);
        assert!(
            running.snapshot().iter().all(|split| split.left() == 0),
            "also before the source has noticed that it is"
        );
    }
}

#[test]
fn a_directory_stands_for_the_files_in_it_and_below_without_dot_names() {
    for world in World::both() {
        world.write("a", "1\n");
        world.write("sub/deep/b", "2\n");
        world.write(".hidden", "no\n");
        world.write(".git/config", "no\n");
        world.write("sub/.x", "no\n");
        world.write("sub/empty", "");
        let mut source = world.lines(&[""]);
        assert_eq!(all(&world, &source), ["1", "2"]);
        source = FileSource::lines([world.path(""), world.path("a"), world.path(".hidden")]);
        assert_eq!(
            all(&world, &source),
            ["no", "1", "2"],
            "a file given twice counts once, one given by name counts"
        );
    }
}

#[test]
fn a_missing_input_is_refused_by_name() {
    for world in World::both() {
        let cx = world.scene(1);
        for follow in [false, true] {
            let source = world.lines(&["nothing-here"]).follow(follow);
            let error = source.clone().discover(&cx.context(0)).unwrap_err();
            assert_eq!(error.class, Class::Refuse);
            assert!(error.to_string().starts_with("open input: "), "{error}");
            assert!(error.to_string().contains("nothing-here: "), "{error}");
        }
    }
}

/// A directory below an input that cannot be read is named itself, not by the input that it is in.
#[test]
fn ms_009_an_unreadable_directory_is_named_where_it_is() {
    const EACCES: i32 = 13;
    let world = World::memory();
    world.write("a/deep/b", "1\n");
    for (nth, named) in [(0, "/in/a: "), (1, "/in/a/deep: ")] {
        let faulty = FaultStorage::new(world.storage.clone());
        faulty.fail_nth(Op::List, nth, Fault::Before(EACCES));
        let cx = SourceContext { storage: Arc::new(faulty), ..world.scene(1).context(0) };
        let error = world.lines(&["a"]).discover(&cx).unwrap_err();
        assert_eq!(error.class, Class::Refuse);
        assert!(error.to_string().starts_with(&format!("open input: {named}")), "{error}");
    }
}

#[test]
fn ms059_a_bom_is_dropped_from_csv_and_nothing_else_is() {
    for world in World::both() {
        world.write("a", b"\xef\xbb\xbf\"a,b\",c\nd,e\n");
        let mut running = Running::fresh(&world, &world.csv(&["a"]), 1);
        running.drain().unwrap();
        let mut scratch = Vec::new();
        let rows: Vec<Vec<Vec<u8>>> = running.outs[0]
            .records
            .iter()
            .map(|line| {
                crate::format::csv::fields(&line.line).map(|f| f.value(&mut scratch).to_vec()).collect()
            })
            .collect();
        assert_eq!(rows, [[b"a,b".to_vec(), b"c".to_vec()], [b"d".to_vec(), b"e".to_vec()]]);
        world.write("only-bom", b"\xef\xbb\xbf");
        world.write("half-bom", b"\xef\xbb");
        assert_eq!(all(&world, &world.csv(&["only-bom"])), [""; 0]);
        assert_eq!(running_bytes(&world, "half-bom"), [b"\xef\xbb".to_vec()]);
        assert_eq!(all(&world, &world.lines(&["only-bom"])), ["\u{feff}"], "a line is any bytes");
    }
}

fn running_bytes(world: &World, name: &str) -> Vec<Vec<u8>> {
    let mut running = Running::fresh(world, &world.csv(&[name]), 1);
    running.drain().unwrap();
    running.outs[0].records.iter().map(|line| line.line.clone()).collect()
}

#[test]
fn a_header_is_left_out_of_every_file_and_may_follow_a_bom_and_blank_lines() {
    for world in World::both() {
        world.write("a", b"\xef\xbb\xbfk,v\r\n1,2\r\n");
        world.write("b", b"\n\r\nk,v\n3,4");
        world.write("c", b"k,v");
        assert_eq!(all(&world, &world.csv(&["a", "b", "c"]).header(true)), ["1,2", "3,4"]);
        assert_eq!(all(&world, &world.lines(&["c", "a"]).header(true)), ["1,2\r"]);
    }
}

#[test]
fn csv_records_name_their_file_and_offset() {
    let world = World::memory();
    world.write("a", "k,v\r\n\n\"x\ny\",1\nz,2\n");
    let mut running = Running::fresh(&world, &world.csv(&["a"]), 1);
    running.drain().unwrap();
    let inode = world.storage.stat(&world.path("a")).unwrap().inode;
    let places: Vec<_> = running.outs[0].records.iter().map(|line| (line.file, line.offset)).collect();
    assert_eq!(places, [(inode, 0), (inode, 6), (inode, 14)]);
    let mut found = crate::connector::Places::new(world.storage.clone(), vec![world.path("")]);
    assert_eq!(found.describe(inode, 6), "/in/a:3 (byte offset 6)");
    assert_eq!(found.describe(inode, 14), "/in/a:5 (byte offset 14)");
    assert_eq!(found.describe(inode, 0), "/in/a:1 (byte offset 0)");
    world.rename("a", "b");
    assert_eq!(found.describe(inode, 6), "/in/b:3 (byte offset 6)");
    world.remove("b");
    assert_eq!(found.describe(inode, 6), format!("file with inode {inode}, now gone (byte offset 6)"));
}

#[test]
fn ms065_a_line_beyond_the_limit_fails_naming_offset_and_limit() {
    for world in World::both() {
        world.write("a", "ok\n");
        world.write("a", "x".repeat(5000));
        world.write("a", "\nok2\n");
        let error = error(&world, &world.lines(&["a"]).max_record_size(1000));
        assert_eq!(error.class, Class::Data);
        let text = error.to_string();
        assert!(text.starts_with("read lines: "), "{text}");
        assert!(text.contains("/a:2 (byte offset 3): "), "{text}");
        assert!(text.ends_with("the record is longer than the limit of 1000 bytes"), "{text}");
    }
}

#[test]
fn ms065_a_line_beyond_the_limit_is_skipped_in_bounded_memory_and_counted() {
    let world = World::disk();
    // 24 MiB in place of 256: what is bounded is the buffer, which is looked at.
    for _ in 0..24 {
        world.write("a", vec![b'x'; 1 << 20]);
    }
    world.write("a", "\nok\n");
    let source = world.lines(&["a"]).bad_records(BadRecordPolicy::Skip);
    let mut running = Running::fresh(&world, &source, 1);
    running.drain().unwrap();
    assert_eq!(running.take(), ["ok"]);
    assert_eq!(rejected(&running.scene), (1, 1));
    let State::Once(once) = &running.subtasks[0].state else { panic!("is open") };
    assert!(once.reader.memory() <= 2 * (1 << 20) + BUFFER, "{}", once.reader.memory());
}

#[test]
fn records_up_to_the_limit_pass_whatever_the_buffer() {
    let world = World::memory();
    world.write("a", format!("{}\n{}\n{}\nb\n", "x".repeat(9), "y".repeat(10), "z".repeat(11)));
    world.write("c", format!("{}\r\n{}\r\n", "x".repeat(10), "y".repeat(11)));
    for buffer in [1, 2, 3, 7, 10, 11, 12, 13, 14, 100] {
        let mut source = world.lines(&["a"]).max_record_size(10).bad_records(BadRecordPolicy::Skip);
        source.settings.buffer = buffer;
        let want = ["x".repeat(9), "y".repeat(10), "b".to_owned()];
        assert_eq!(all(&world, &source), want, "buffer of {buffer}");
        let mut source = world.csv(&["c"]).max_record_size(10).bad_records(BadRecordPolicy::Skip);
        source.settings.buffer = buffer;
        assert_eq!(all(&world, &source), ["x".repeat(10)], "buffer of {buffer}");
    }
}

#[test]
fn an_open_quote_at_the_end_is_a_bad_record() {
    for world in World::both() {
        world.write("a", "1,a\n2,\"open\n3,c\n");
        let failure = error(&world, &world.csv(&["a"]));
        assert_eq!(failure.class, Class::Data);
        let text = failure.to_string();
        assert!(text.contains("/a:2 (byte offset 4): a quoted field is never closed"), "{text}");
        let source = world.csv(&["a"]).bad_records(BadRecordPolicy::Skip);
        let mut running = Running::fresh(&world, &source, 1);
        running.drain().unwrap();
        assert_eq!(running.take(), ["1,a"]);
        assert_eq!(rejected(&running.scene), (1, 1));
    }
}

#[test]
fn dead_letters_of_the_source_hold_the_raw_bytes_reason_and_place() {
    for world in World::both() {
        world.write("in/a", "ok\n0123456789\nok\nabcdefghijk");
        let source = world
            .lines(&["in"])
            .max_record_size(5)
            .bad_records(BadRecordPolicy::DeadLetter(world.path("bad")));
        assert_eq!(all(&world, &source), ["ok", "ok"]);
        let kept = file(&world, &world.path("bad/source-0.rejected"));
        let path = world.path("in/a");
        let inode = world.storage.stat(&path).unwrap().inode;
        let why = "the record is longer than the limit of 5 bytes";
        let (a, b) = ("0123456789\n", "abcdefghijk");
        let want = format!(
            "@{inode} 3 11 {0}:2 (byte offset 3): {why}\n{a}\n@{inode} 17 11 {0}:4 (byte offset 17): {why}\n{b}\n",
            path.display()
        );
        assert_eq!(kept, want);
        // A replay finds them there.
        assert_eq!(all(&world, &source), ["ok", "ok"]);
        assert_eq!(file(&world, &world.path("bad/source-0.rejected")), want);
    }
}

#[test]
fn a_file_that_shrinks_or_is_replaced_while_it_is_read_fails_by_name() {
    for world in World::both() {
        world.write("a", text(&numbered(0..100)));
        let source = world.lines(&["a"]);
        for other in ["line 0\n".to_owned(), text(&numbered(1..101))] {
            let mut running = Running::fresh(&world, &source, 1);
            world.truncate("a");
            world.write("a", other);
            let error = running.drain().unwrap_err();
            assert_eq!(error.class, Class::Data);
            assert!(
                error.to_string().contains("/a: the file is not the one that was read before"),
                "{error}"
            );
        }
    }
}

#[test]
fn what_is_appended_to_bounded_input_after_the_start_is_left_alone() {
    for world in World::both() {
        world.write("a", "one\ntw");
        let mut running = Running::fresh(&world, &world.lines(&["a"]), 1);
        world.write("a", "o\nthree\n");
        running.drain().unwrap();
        assert_eq!(running.take(), ["one", "tw"]);
    }
}

#[test]
fn dead_letters_in_front_of_a_snapshot_survive_a_power_cut() {
    let storage = MemoryStorage::new();
    let world = World { storage: Arc::new(storage.clone()), ..World::memory() };
    world.write("in", "far too long\nok\n");
    let bad = BadRecordPolicy::DeadLetter(world.path("bad"));
    let source = world.lines(&["in"]).max_record_size(5).bad_records(bad);
    let mut running = Running::fresh(&world, &source, 1);
    running.drain().unwrap();
    let kept = file(&world, &world.path("bad/source-0.rejected"));
    running.snapshot();
    for seed in 0..10 {
        let after = World { storage: Arc::new(storage.crash_image(seed)), ..World::memory() };
        assert_eq!(file(&after, &world.path("bad/source-0.rejected")), kept);
    }
}

#[test]
fn a_snapshot_whose_dead_letters_cannot_be_made_durable_fails_also_when_the_source_is_done() {
    let memory = World::memory();
    let faults = FaultStorage::new(memory.storage.clone());
    let world = World { storage: Arc::new(faults.clone()), ..memory };
    world.write("in", "far too long\nok\n");
    let bad = BadRecordPolicy::DeadLetter(world.path("bad"));
    let source = world.lines(&["in"]).max_record_size(5).bad_records(bad);
    let mut running = Running::fresh(&world, &source, 1);
    assert_eq!(running.poll(0).unwrap(), Poll::More);
    faults.fail_every(Op::Sync, Some(Fault::Before(5)));
    assert!(running.subtasks[0].snapshot().is_err(), "a checkpoint would rely on letters that may be lost");
    assert!(running.drain().is_err(), "the end of input is the last chance without checkpoints");
    assert!(running.subtasks[0].snapshot().is_err(), "also at the last barrier");
}

#[test]
fn dead_letters_that_an_attempt_left_unsynced_are_durable_before_the_next_one_relies_on_them() {
    let storage = MemoryStorage::new();
    let world = World { storage: Arc::new(storage.clone()), ..World::memory() };
    world.write("in", "far too long\nok\n");
    let bad = BadRecordPolicy::DeadLetter(world.path("bad"));
    let source = world.lines(&["in"]).max_record_size(5).bad_records(bad);
    Running::fresh(&world, &source, 1).poll(0).unwrap();
    let mut running = Running::fresh(&world, &source, 1);
    running.poll(0).unwrap();
    running.snapshot();
    let kept = file(&world, &world.path("bad/source-0.rejected"));
    for seed in 0..10 {
        let after = World { storage: Arc::new(storage.crash_image(seed)), ..World::memory() };
        assert_eq!(file(&after, &world.path("bad/source-0.rejected")), kept);
    }
}

#[test]
fn links_in_a_directory_are_left_out_and_one_that_is_given_is_followed() {
    let world = World::disk();
    world.write("in/deep/a", "one\n");
    world.write("out", "two\n");
    for (to, name) in [
        ("deep/a", "in/file"),
        ("deep", "in/dir"),
        ("..", "in/loop"),
        ("../out", "in/outside"),
        ("in", "link"),
    ] {
        std::os::unix::fs::symlink(to, world.path(name)).unwrap();
    }
    assert_eq!(all(&world, &world.lines(&["in"])), ["one"]);
    assert_eq!(all(&world, &world.lines(&["link", "in/outside"])), ["one", "two"]);
    let mut running = Running::fresh(&world, &world.lines(&["link"]).follow(true), 1);
    running.drain().unwrap();
    assert_eq!(running.take(), ["one"]);
}

#[test]
fn text_behind_a_closing_quote_makes_a_csv_record_a_bad_one_wherever_it_stands() {
    for text in ["\"a\"b,1\nok\n", "ok\nx,\"a\"\"\"b\r\n", "ok\n\"a\" "] {
        let world = World::memory();
        world.write("in", text);
        let source = world.csv(&["in"]);
        assert!(error(&world, &source).to_string().contains("closing quote"), "{text:?}");
        let mut running = Running::fresh(&world, &source.bad_records(BadRecordPolicy::Skip), 1);
        running.drain().unwrap();
        assert_eq!((running.take(), rejected(&running.scene).1), (vec!["ok".to_owned()], 1), "{text:?}");
    }
}
