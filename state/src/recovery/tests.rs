//! The plan for every kind of directory and every request: tables, and all combinations against the rules said once
//! more in other words.

use super::*;
use crate::JobId;

fn dir() -> JobDir {
    JobDir::new("/c".as_ref(), JobId::of("job"))
}

fn chk(n: u64) -> PathBuf {
    dir().checkpoint(CheckpointId(n))
}

fn ids(numbers: &[u64]) -> Vec<CheckpointId> {
    numbers.iter().copied().map(CheckpointId).collect()
}

/// `"2 3- 5"`: checkpoints 2 and 5, an unfinished attempt 3.
fn found(text: &str) -> Vec<Found> {
    let one = |word: &str| {
        let (number, complete) = match word.strip_suffix('-') {
            Some(number) => (number, false),
            None => (word, true),
        };
        Found { id: CheckpointId(number.parse().unwrap()), complete }
    };
    text.split_whitespace().map(one).collect()
}

fn line(line: u64, first: u64, began: Began, end: LineEnd) -> Option<Lineage> {
    Some(Lineage { line, first: CheckpointId(first), began, end, reached: None })
}

fn facts(lineage: Option<Lineage>, checkpoints: &str) -> Facts {
    Facts { dir: dir(), lineage, checkpoints: found(checkpoints), untold: Vec::new(), highest_line: 0 }
}

fn open(first: u64) -> Option<Lineage> {
    line(4, first, Began::Empty, LineEnd::Open)
}

#[track_caller]
fn decided(facts: &Facts, request: &Request) -> Plan {
    plan(facts, request).unwrap()
}

#[test]
fn nothing_there_starts_empty_in_line_1_with_id_1() {
    let plan = decided(&facts(None, ""), &Request::Resume);
    assert_eq!(plan.start, Start::Empty(Reason::NoCheckpoint));
    assert_eq!(plan.next_id(None), CheckpointId(1));
    assert_eq!(Some(plan.lineage(None)), line(1, 1, Began::Empty, LineEnd::Open));
}

/// Which one is chosen: the newest completed of the current line, in the same line.
#[test]
fn ms_004_ms_010_the_newest_completed_of_the_current_line_is_chosen() {
    for (lineage, checkpoints, chosen, next, leftovers, older) in [
        (open(1), "1", 1, 2, &[][..], &[][..]),
        (open(1), "1 2 3", 3, 4, &[], &[2, 1]),
        (open(1), "1 2 3- 4-", 2, 5, &[3, 4], &[1]),
        (open(1), "1- 2 3- 9", 9, 10, &[1, 3], &[2]),
        // Older lines are neither chosen nor offered.
        (open(3), "1 2 3 4", 4, 5, &[], &[3]),
        (open(5), "1 2 3- 5", 5, 6, &[3], &[]),
        // 10 is above 9, whatever the order of their names.
        (open(1), "9 10", 10, 11, &[], &[9]),
    ] {
        let plan = decided(&facts(lineage.clone(), checkpoints), &Request::Resume);
        assert_eq!(plan.start, Start::Resume(chk(chosen)), "{checkpoints}");
        assert_eq!(plan.next_id(Some(CheckpointId(chosen))), CheckpointId(next), "{checkpoints}");
        assert_eq!((plan.leftovers, plan.older), (ids(leftovers), ids(older)), "{checkpoints}");
        assert_eq!(plan.continues, lineage, "the line goes on");
    }
}

/// The current line has no completed checkpoint: it begins once more with what it began with.
#[test]
fn ms_005_a_line_without_checkpoint_begins_again() {
    for checkpoints in ["", "5-", "1 2 3", "1 2 3 5- 6-"] {
        let empty = facts(open(5), checkpoints);
        let plan = decided(&empty, &Request::Resume);
        assert_eq!(plan.start, Start::Empty(Reason::NoCheckpoint), "{checkpoints}");
        assert_eq!(plan.continues, empty.lineage);
        let began_at_2 = line(4, 5, Began::At(chk(2)), LineEnd::Open);
        let plan = decided(&facts(began_at_2.clone(), checkpoints), &Request::Resume);
        assert_eq!(plan.start, Start::Resume(chk(2)), "never a silent start at zero: {checkpoints}");
        assert_eq!(plan.continues, began_at_2);
        assert!(plan.next_id(Some(CheckpointId(2))) >= CheckpointId(5));
    }
}

#[test]
fn ms_020_fresh_begins_a_line_above_everything_and_removes_no_checkpoint() {
    let ends = [LineEnd::Open, LineEnd::Finished, LineEnd::Canceled, LineEnd::Stopped(chk(3))];
    for end in ends {
        let plan = decided(&facts(line(4, 2, Began::Empty, end), "1 2 3 7-"), &Request::Fresh);
        assert_eq!(plan.start, Start::Empty(Reason::Fresh));
        assert_eq!(Some(plan.lineage(None)), line(5, 8, Began::Empty, LineEnd::Open));
        assert_eq!(plan.leftovers, ids(&[7]), "the unfinished attempt alone");
    }
}

#[test]
fn ruling_02_start_paths() {
    let elsewhere = PathBuf::from("/saved/chk-40");
    for (lineage, checkpoints, path, expected, goes_on) in [
        // Another place, or an older checkpoint: a new line.
        (open(1), "1 2 3", &elsewhere, Start::From(elsewhere.clone()), false),
        (open(1), "1 2 3", &chk(2), Start::From(chk(2)), false),
        (None, "", &elsewhere, Start::From(elsewhere.clone()), false),
        (None, "1 2", &chk(1), Start::From(chk(1)), false),
        // The line began there: it goes on, from its newest if it has one.
        (
            line(4, 3, Began::At(elsewhere.clone()), LineEnd::Open),
            "1 2",
            &elsewhere,
            Start::From(elsewhere.clone()),
            true,
        ),
        (
            line(4, 3, Began::At(elsewhere.clone()), LineEnd::Open),
            "1 2 3 4-",
            &elsewhere,
            Start::Resume(chk(3)),
            true,
        ),
        // It began there and has ended: a new run from there. So is one from any other place.
        (
            line(4, 3, Began::At(elsewhere.clone()), LineEnd::Finished),
            "",
            &elsewhere,
            Start::Anew(elsewhere.clone(), Reason::NewRunAfterFinish),
            false,
        ),
        (
            line(4, 3, Began::At(elsewhere.clone()), LineEnd::Canceled),
            "",
            &elsewhere,
            Start::Anew(elsewhere.clone(), Reason::NewRunAfterCancel),
            false,
        ),
        (
            line(4, 3, Began::Empty, LineEnd::Finished),
            "1",
            &chk(1),
            Start::Anew(chk(1), Reason::NewRunAfterFinish),
            false,
        ),
        // It began there and was stopped: where it was stopped.
        (
            line(4, 3, Began::At(elsewhere.clone()), LineEnd::Stopped(chk(5))),
            "5",
            &elsewhere,
            Start::Resume(chk(5)),
            false,
        ),
    ] {
        let facts = facts(lineage.clone(), checkpoints);
        let plan = decided(&facts, &Request::From(path.clone()));
        assert_eq!(plan.start, expected, "{facts:?} -s {}", path.display());
        assert_eq!(plan.continues.is_some(), goes_on, "{facts:?} -s {}", path.display());
        if !goes_on {
            let next = plan.lineage(Some(CheckpointId(40)));
            assert_eq!(next.line, lineage.map_or(0, |l| l.line) + 1);
            assert_eq!(next.began, Began::At(expected.snapshot().unwrap().to_owned()));
            assert_eq!(next.first, CheckpointId(41), "CP-13: above the restored one");
            assert_eq!(next.end, LineEnd::Open);
        }
    }
}

#[test]
fn ruling_02_after_the_end_a_new_run_begins_and_leftovers_go() {
    for (end, reason) in
        [(LineEnd::Finished, Reason::NewRunAfterFinish), (LineEnd::Canceled, Reason::NewRunAfterCancel)]
    {
        // 2 belongs to an older line, and an end of that line was told late; 5 and 6 were to be deleted at the end, but
        // could not be.
        let ended = facts(line(4, 3, Began::Empty, end), "2 5 6 7-");
        let plan = decided(&Facts { untold: ids(&[2]), ..ended }, &Request::Resume);
        assert_eq!(plan.start, Start::Empty(reason));
        let mut leftovers = plan.leftovers.clone();
        leftovers.sort();
        assert_eq!(leftovers, ids(&[5, 6, 7]));
        assert_eq!(Some(plan.lineage(None)), line(5, 8, Began::Empty, LineEnd::Open));
    }
}

/// The process died between the record of its end and its exit: whoever started it starts it again, and what was done
/// is not done twice, whether or not the final checkpoint itself is still there.
#[test]
fn ruling_02_a_finished_line_is_over_when_that_was_told() {
    for request in [Request::Resume, Request::From("/saved/chk-40".into())] {
        for there in ["2 5 6 7-", "2 5 7-", "2", ""] {
            let began = Began::At("/saved/chk-40".into());
            let finished = facts(line(4, 3, began.clone(), LineEnd::Finished), there);
            let plan = decided(&Facts { untold: ids(&[2, 6]), ..finished.clone() }, &request);
            assert_eq!(plan.start, Start::Conclude(chk(6)), "{there}");
            assert_eq!(Some(plan.lineage(None)), line(4, 3, began, LineEnd::Finished));
            assert!(plan.leftovers.iter().all(|id| *id == CheckpointId(7)), "{there}");
            assert!(plan.next_id(None) > CheckpointId(6), "{there}");
            // Told: over.
            let over = decided(&Facts { untold: ids(&[2]), ..finished }, &request);
            assert_eq!(over.continues, None, "{there}");
        }
    }
}

/// What was prepared for the end means nothing before the end is on record.
#[test]
fn ruling_02_an_end_that_is_not_on_record_is_none() {
    for (end, start) in
        [(LineEnd::Open, Start::Resume(chk(6))), (LineEnd::Canceled, Start::Empty(Reason::NewRunAfterCancel))]
    {
        let facts = Facts { untold: ids(&[6]), ..facts(line(4, 3, Began::Empty, end), "5 6") };
        assert_eq!(decided(&facts, &Request::Resume).start, start);
    }
}

#[test]
fn ruling_03_a_stop_is_gone_on_from_in_a_new_line() {
    let stopped = line(4, 3, Began::Empty, LineEnd::Stopped(chk(6)));
    let plan = decided(&facts(stopped, "2 5 6"), &Request::Resume);
    assert_eq!(plan.start, Start::Resume(chk(6)));
    assert_eq!(plan.leftovers, ids(&[5]), "what the stop was to delete, but not what it keeps");
    let next = plan.lineage(Some(CheckpointId(6)));
    assert_eq!(Some(next), line(5, 7, Began::At(chk(6)), LineEnd::Open));
}

/// A checkpoint of an ended line that the user asks for is not removed under their hands.
#[test]
fn what_is_started_from_is_no_leftover() {
    let finished = line(4, 3, Began::Empty, LineEnd::Finished);
    let plan = decided(&facts(finished, "5 6"), &Request::From(chk(5)));
    assert_eq!(plan.start, Start::Anew(chk(5), Reason::NewRunAfterFinish));
    assert_eq!(plan.leftovers, ids(&[6]));
}

/// Ids are not used again when a line has been deleted: the lineage remembers where the next one began.
#[test]
fn cp_13_ids_go_on_above_the_first_of_the_line() {
    assert_eq!(decided(&facts(open(8), ""), &Request::Resume).next_id(None), CheckpointId(8));
    assert_eq!(decided(&facts(open(8), "3 9-"), &Request::Resume).next_id(None), CheckpointId(10));
}

#[test]
fn a_lost_lineage_refuses_a_plain_start_only() {
    let lost = Facts { highest_line: 6, ..facts(None, "1 2 3-") };
    match plan(&lost, &Request::Resume) {
        Err(Refusal::LineageMissing { lineage, newest }) => {
            assert_eq!((lineage, newest), (dir().lineage(), chk(2)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(decided(&lost, &Request::Fresh).lineage(None).line, 7);
    assert_eq!(decided(&lost, &Request::From(chk(1))).lineage(Some(CheckpointId(1))).line, 7);
    let only_attempts = decided(&facts(None, "1- 2-"), &Request::Resume);
    assert_eq!(only_attempts.start, Start::Empty(Reason::NoCheckpoint));
    assert_eq!(only_attempts.next_id(None), CheckpointId(3));
}

/// MS-020: a checkpoint that was completed and that others have deleted is missed, whatever the request means to go on
/// with. `--fresh`, and a path that begins another line, do not need it.
#[test]
fn ms_020_a_line_whose_checkpoint_is_gone_is_not_begun_again() {
    let began = PathBuf::from("/saved/chk-40");
    let reached = |end, id| {
        line(4, 5, Began::At(began.clone()), end).map(|l| Lineage { reached: Some(CheckpointId(id)), ..l })
    };
    // Older lines, unfinished attempts and older checkpoints of the line are no replacement.
    for (there, older) in [("", None), ("1 2 4", None), ("7- 8-", None), ("5 6 8-", Some(chk(6)))] {
        let facts = facts(reached(LineEnd::Open, 7), there);
        for request in [Request::Resume, Request::From(began.clone())] {
            match plan(&facts, &request) {
                Err(Refusal::Gone { dir, older: offered }) => {
                    assert_eq!((dir, offered), (chk(7), older.clone()))
                }
                other => panic!("{there}, {request:?}: {other:?}"),
            }
        }
        assert_eq!(decided(&facts, &Request::Fresh).start, Start::Empty(Reason::Fresh));
        let other = Request::From("/saved/chk-41".into());
        assert_eq!(decided(&facts, &other).start, Start::From("/saved/chk-41".into()));
    }
    for there in ["7", "6 7", "9", "5 9 10-"] {
        assert!(plan(&facts(reached(LineEnd::Open, 7), there), &Request::Resume).is_ok(), "{there}");
    }
    // A line that has ended has deleted its own.
    for end in [LineEnd::Finished, LineEnd::Canceled] {
        assert!(plan(&facts(reached(end, 7), ""), &Request::Resume).is_ok());
    }
}

/// MS-020: one line that says which it is.
#[test]
fn ms_020_the_start_says_what_it_does() {
    let text = |start: Start| start.to_string();
    assert_eq!(text(Start::Resume("/a/chk-2".into())), "resuming from /a/chk-2");
    assert_eq!(text(Start::From("/a/chk-2".into())), "starting from /a/chk-2");
    let anew = Start::Anew("/a/chk-2".into(), Reason::NewRunAfterFinish);
    assert_eq!(text(anew), "starting from /a/chk-2 (the job had finished; this is a new run)");
    for reason in [Reason::NoCheckpoint, Reason::Fresh, Reason::NewRunAfterFinish, Reason::NewRunAfterCancel]
    {
        assert!(text(Start::Empty(reason)).starts_with("starting without state ("));
    }
}

/// Every subset of four checkpoints, complete or not, with every lineage and request: the rules in other words.
#[test]
fn all_small_directories_obey_the_rules() {
    let outside = PathBuf::from("/saved/sp");
    let begans = [Began::Empty, Began::At(outside.clone()), Began::At(chk(1))];
    let ends = [LineEnd::Open, LineEnd::Finished, LineEnd::Canceled, LineEnd::Stopped(chk(3))];
    let requests = [Request::Resume, Request::Fresh, Request::From(outside.clone()), Request::From(chk(2))];
    let mut lineages = vec![None];
    for first in 1..=4 {
        for began in &begans {
            lineages.extend(ends.iter().map(|end| line(2, first, began.clone(), end.clone())));
            let open = line(2, first, began.clone(), LineEnd::Open).unwrap();
            lineages.push(Some(open.reached(Some(CheckpointId(3.max(first))))));
        }
    }
    let mut seen = 0;
    for pattern in 0..3u32.pow(4) {
        let digit = |n: u64| pattern / 3u32.pow(n as u32 - 1) % 3;
        let there = (1..=4).filter(|&n| digit(n) > 0);
        let checkpoints: Vec<_> =
            there.map(|n| Found { id: CheckpointId(n), complete: digit(n) == 2 }).collect();
        for lineage in &lineages {
            for request in &requests {
                let untold = if pattern % 2 == 0 { ids(&[2]) } else { Vec::new() };
                let facts = Facts { checkpoints: checkpoints.clone(), untold, ..facts(lineage.clone(), "") };
                match plan(&facts, request) {
                    Ok(plan) => obeys(&facts, request, &plan),
                    Err(Refusal::LineageMissing { .. }) => {
                        assert!(lineage.is_none() && *request == Request::Resume, "{facts:?}");
                        assert!(checkpoints.iter().any(|c| c.complete), "{facts:?}");
                    }
                    Err(Refusal::Gone { dir, .. }) => {
                        let line = lineage.as_ref().unwrap();
                        let reached = line.reached.unwrap();
                        assert_eq!(dir, chk(reached.0), "{facts:?}");
                        let newer = |c: &Found| c.complete && c.id >= reached;
                        assert!(line.end == LineEnd::Open && !checkpoints.iter().any(newer), "{facts:?}");
                        assert_ne!(*request, Request::Fresh);
                    }
                    Err(other) => panic!("{other:?}"),
                }
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 81 * (1 + 4 * 3 * 5) * 4);
}

fn obeys(facts: &Facts, request: &Request, plan: &Plan) {
    let context = || format!("{facts:?}\n{request:?}\n{plan:?}");
    let chosen = plan.start.snapshot();
    let lineage = facts.lineage.as_ref();
    let next = plan.lineage(None);
    // Ids: above everything there.
    assert!(facts.checkpoints.iter().all(|c| c.id < plan.next_id(None)), "{}", context());
    // An own checkpoint that is chosen without being named is complete, is the newest of the current line or what the
    // line began or was stopped with.
    if let (Start::Resume(dir), Some(line)) = (&plan.start, lineage) {
        let newest = facts.checkpoints.iter().rfind(|c| c.complete && line.holds(c.id));
        let base = line.began_at(dir) || line.end == LineEnd::Stopped(dir.clone());
        assert!(base || newest.is_some_and(|c| chk(c.id.0) == *dir), "{}", context());
    }
    // Nothing that is removed is chosen, complete checkpoints are removed only of a line that is over.
    for id in &plan.leftovers {
        assert_ne!(chosen, Some(&*chk(id.0)), "{}", context());
        let found = facts.checkpoints.iter().find(|c| c.id == *id).unwrap();
        let over = lineage.is_some_and(|l| l.end != LineEnd::Open && l.holds(*id));
        assert!(!found.complete || (over && *request != Request::Fresh), "{}", context());
    }
    // A line goes on as it was, or a new one begins above it with what was chosen. One that has finished is concluded as
    // long as that was not told.
    match &plan.continues {
        Some(line) => {
            assert_eq!(Some(line), lineage, "{}", context());
            match &plan.start {
                Start::Conclude(dir) => {
                    assert_eq!(line.end, LineEnd::Finished, "{}", context());
                    let untold = facts.untold.iter().rfind(|id| line.holds(**id));
                    assert!(untold.is_some_and(|id| chk(id.0) == *dir), "{}", context());
                }
                _ => assert_eq!(line.end, LineEnd::Open, "{}", context()),
            }
        }
        None => {
            assert!(lineage.is_none_or(|l| next.line == l.line + 1), "{}", context());
            assert_eq!(next.first, plan.next_id(None), "{}", context());
            assert_eq!(
                next.began,
                chosen.map_or(Began::Empty, |dir| Began::At(dir.to_owned())),
                "{}",
                context()
            );
        }
    }
    // The user's word counts.
    match request {
        Request::Fresh => assert_eq!(plan.start, Start::Empty(Reason::Fresh)),
        Request::From(dir) => {
            assert!(chosen == Some(dir) || lineage.is_some_and(|l| l.began_at(dir)), "{}", context())
        }
        Request::Resume => {
            assert!(!matches!(plan.start, Start::From(_) | Start::Anew(..)), "{}", context());
        }
    }
}
