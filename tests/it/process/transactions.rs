//! What was prepared and not committed when a process died, and is not there any more.

use millstream_tests::process::{Lines, Place, Side, wait_for};
use std::fs;

const OPTIONS: &str =
    "-D execution.checkpointing.interval=1h -D execution.checkpointing.dir=ck --summary summary.json";

/// Kills a job between the completion of its first checkpoint, of five lines, and the commit.
fn killed_before_commit(place: &Place, job: &str) {
    place.write("in", "1\n2\n3\n4\n5\n");
    let mut running = place.start(&format!("{job} --commit-delay 1h"));
    running.started();
    // Source and sink are one chain: what has been read has been written.
    wait_for("all lines to be read", || (place.metric("trials", "numRecordsIn") == Some(5)).then_some(()));
    let _asking = place.start("checkpoint trials");
    place.checkpoint_above("ck", 0);
    assert!(running.kill().was_killed());
}

/// MS-030: killed between pre-commit and commit, and then a pending file is deleted. The start names it and the checkpoint;
/// with a word it goes on without it, and counts it.
#[test]
fn ms_030_a_pending_file_that_is_deleted_after_a_kill_is_named() {
    let place = Place::of_trials();
    let job = &format!("run {OPTIONS} --trial copy --follow --input in --output out --roll 1");
    killed_before_commit(&place, job);
    let pending = place.files("out", Side::Hidden);
    assert_eq!((pending.len(), place.lines("out").count()), (5, 0));
    fs::remove_file(&pending[2]).unwrap();
    let before = place.everything();
    let named = [pending[2].file_name().unwrap().to_str().unwrap(), "checkpoint 1"];
    place.run(job).refused(&named);
    before.is_unchanged(&place);
    let running = place.start(&format!("{job} --forgive"));
    wait_for("the other files", || (place.lines("out").count() == 4).then_some(()));
    running.signal("TERM");
    running.wait().well();
    place.lines("out").are(&Lines::of(b"1\n2\n4\n5\n"));
}

/// MS-031: the system outside does not know a transaction of the checkpoint that is restored. The job fails and says that its
/// data may be lost, each time; with a word it goes on, and counts it.
#[test]
fn ms_031_a_transaction_that_the_system_outside_has_forgotten_fails_the_job() {
    let place = Place::of_trials();
    let job = &format!("run {OPTIONS} --trial outside --follow --input in --output out");
    killed_before_commit(&place, job);
    fs::remove_file(place.path("out/prepared-1")).unwrap();
    for _ in 0..2 {
        let ended = place.run(job);
        assert!(ended.code().is_some_and(|code| code != 0), "{}", ended.stderr);
        for part in ["unknown transaction", "data of checkpoint 1 may be lost", "--forgive"] {
            assert!(ended.stderr.contains(part), "{}", ended.stderr);
        }
        assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 0);
    }
    let running = place.start(&format!("{job} --forgive"));
    let word = "warning: transaction 1 is unknown, 1 so far";
    wait_for("a warning", || running.said().contains(word).then_some(()));
    fs::write(place.path("in"), "1\n2\n3\n4\n5\n6\n").unwrap();
    wait_for("the next line", || (place.metric("trials", "numRecordsIn") == Some(6)).then_some(()));
    running.signal("TERM");
    running.wait().well();
    place.lines("out").are(&Lines::of(b"6\n"));
}
