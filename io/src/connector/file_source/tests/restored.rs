//! Going on from a checkpoint.

use super::*;

/// Kills the source after every poll of every subtask, goes on from the snapshot taken there, and compares.
fn killed_at_every_poll<F: Format<Out: Shown>>(world: &World, source: &FileSource<F>, want: &[String]) {
    for polls in 0.. {
        let mut running = Running::fresh(world, source, 2);
        let mut polled = 0;
        'polls: for subtask in 0..2 {
            while polled < polls {
                polled += 1;
                if running.poll(subtask).unwrap() != Poll::More {
                    continue 'polls;
                }
            }
        }
        let state = running.snapshot();
        let mut got = running.take();
        for parallelism in [2, 3] {
            let mut next = Running::restored(world, source, parallelism, state.clone());
            next.drain().unwrap();
            let mut both = [got.clone(), next.take()].concat();
            both.sort();
            assert_eq!(both, want, "after {polls} polls, going on with {parallelism}");
        }
        got.sort();
        if polled < polls || got == want {
            assert!(polls > 3, "the source was killed in the middle");
            return;
        }
    }
}

/// Makes every poll emit about one record.
fn one_record_a_poll<F: Format>(mut source: FileSource<F>) -> FileSource<F> {
    source.settings.batch = 1;
    source
}

#[test]
fn sr05_killed_at_every_record_no_line_is_lost_or_doubled() {
    for world in World::both() {
        world.write("a", text(&numbered(0..20)));
        world.write("b", "no\n\nlf at the end");
        let mut want = [numbered(0..20), vec!["no".into(), "".into(), "lf at the end".into()]].concat();
        want.sort();
        let source = one_record_a_poll(world.lines(&["a", "b"])).smallest_split(30);
        killed_at_every_poll(&world, &source, &want);
    }
}

#[test]
fn sr05_killed_at_every_record_of_csv_with_header_bom_and_long_records() {
    let world = World::memory();
    let long = "x".repeat(60);
    world.write("a", format!("\u{feff}\n\nk,v\n1,\"a\nb\"\n\n2,{long}\n3,c\r\n"));
    world.write("b", format!("{long}\nk,v\n4,\"d\n\"\n5"));
    let mut want: Vec<String> = ["1,\"a\nb\"", "3,c", "4,\"d\n\"", "5", "k,v"].map(String::from).into();
    want.sort();
    let mut source = one_record_a_poll(world.csv(&[""])).smallest_split(20).header(true).max_record_size(50);
    source = source.bad_records(BadRecordPolicy::Skip);
    // So small that the long record is passed over in pieces.
    source.settings.buffer = 8;
    killed_at_every_poll(&world, &source, &want);
}

#[test]
fn ms003_a_file_that_has_ended_before_the_checkpoint_is_not_read_again() {
    for world in World::both() {
        world.write("a", "1\n2\n3\n");
        world.write("b", text(&numbered(0..20_000)));
        let source = world.lines(&["a", "b"]);
        let mut running = Running::fresh(&world, &source, 1);
        while !running.snapshot().iter().all(|split| split.left() == 0 || split.path().ends_with("b")) {
            assert_eq!(running.poll(0).unwrap(), Poll::More);
        }
        let state = running.snapshot();
        assert_eq!(state.iter().filter(|split| split.left() > 0).count(), 1);
        let mut got = running.take();
        let mut next = Running::restored(&world, &source, 1, state);
        next.drain().unwrap();
        got.extend(next.take());
        assert_eq!(got, [["1", "2", "3"].map(String::from).to_vec(), numbered(0..20_000)].concat());
    }
}

#[test]
fn ms058_a_thousand_files_stopped_and_resumed_twenty_times() {
    let world = World::memory();
    let mut want = Vec::new();
    for i in 0..1000 {
        let lines: Vec<String> = (0..100).map(|j| format!("{i}-{j}")).collect();
        world.write(&format!("f{i}"), text(&lines));
        want.extend(lines);
    }
    want.sort();
    let source = world.lines(&[""]);
    let mut got = Vec::new();
    let mut state = source.clone().discover(&world.scene(1).context(0)).unwrap();
    for round in 0..20 {
        let parallelism = 1 + round % 4;
        let mut running = Running::restored(&world, &source, parallelism, state);
        for subtask in 0..parallelism {
            for _ in 0..40 / parallelism {
                running.poll(subtask).unwrap();
            }
        }
        state = running.snapshot();
        got.extend(running.take());
    }
    assert!(!state.is_empty() && got.len() > 50_000, "{} files and {} lines", state.len(), got.len());
    let mut last = Running::restored(&world, &source, 2, state);
    last.drain().unwrap();
    got.extend(last.take());
    got.sort();
    assert_eq!(got, want);
}

/// The state of a source that has read a little of every file.
fn begun(world: &World, source: &FileSource<Lines>) -> Vec<FileSplit> {
    source.clone().discover(&world.scene(1).context(0)).unwrap()
}

fn check(
    world: &World,
    source: &FileSource<Lines>,
    state: Vec<FileSplit>,
    dropping: bool,
) -> Result<usize, String> {
    let checked = source.clone().check(&world.scene(1).context(0), state, dropping);
    checked.map(|splits| splits.len()).map_err(|error| {
        assert_eq!(error.class, Class::Refuse);
        assert!(error.hint.is_some());
        error.to_string()
    })
}

#[test]
fn ruling_26_state_of_an_input_that_is_not_given_any_more_refuses_unless_allowed() {
    for world in World::both() {
        world.write("a", "1\n");
        world.write("b", "2\n");
        let state = begun(&world, &world.lines(&["a", "b"]));
        let message = check(&world, &world.lines(&["a"]), state.clone(), false).unwrap_err();
        let want = format!(
            "restore source: {}: the checkpoint goes on reading this file, which is not among the inputs",
            world.path("b").display()
        );
        assert_eq!(message, want);
        assert_eq!(check(&world, &world.lines(&["a"]), state.clone(), true), Ok(1));
        assert_eq!(check(&world, &world.lines(&[""]), state, false), Ok(2));
    }
}

#[test]
fn sr05_a_file_that_is_gone_or_changed_at_the_restore_refuses_by_name() {
    for world in World::both() {
        world.write("a", "1\n2\n");
        let source = world.lines(&[""]);
        let state = begun(&world, &source);
        world.write("a", "appended\n");
        assert_eq!(
            check(&world, &source, state.clone(), false),
            Ok(1),
            "growth is no change of what was there"
        );
        world.truncate("a");
        let message = check(&world, &source, state.clone(), false).unwrap_err();
        assert!(
            message.ends_with("/a: the file is not the one that was read before: its content has changed")
        );
        world.write("a", "1\n9\n");
        assert!(check(&world, &source, state.clone(), false).is_err());
        world.remove("a");
        let message = check(&world, &source, state.clone(), false).unwrap_err();
        assert!(message.ends_with("/a: the file is gone before it was read to its end"), "{message}");
        assert_eq!(check(&world, &source, state.clone(), true), Ok(0));
        world.write("a", "1\n2\n");
        assert_eq!(check(&world, &source, state, false), Ok(1), "the same content was put back");
    }
}

#[test]
fn a_source_that_follows_does_not_go_on_where_one_that_ends_stood() {
    let world = World::memory();
    world.write("a", "1\n");
    let state = begun(&world, &world.lines(&["a"]));
    let message = check(&world, &world.lines(&["a"]).follow(true), state, true).unwrap_err();
    assert!(message.contains("this one follows it"), "{message}");
}
