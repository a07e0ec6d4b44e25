//! Help and the list of jobs.

use crate::support::Place;

#[test]
fn help_lists_the_verbs_that_work_and_no_others() {
    let ran = Place::new().run("--help").ends_well();
    let verbs: Vec<&str> = ran
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("Commands"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(verbs, ["run", "jobs", "list", "checkpoints", "metrics", "checkpoint", "stop", "cancel"]);
    assert_eq!(ran.stderr, "");
}

#[test]
fn jobs_lists_one_per_line_with_a_description_and_each_has_help() {
    let place = Place::new();
    let ran = place.run("jobs").ends_well();
    let listed = ran.stdout.lines().map(|line| line.split_once(' ').unwrap());
    let (names, abouts): (Vec<&str>, Vec<&str>) = listed.unzip();
    assert_eq!(names, ["pass", "wordcount", "count", "running", "dedup", "flights"]);
    assert!(ran.stdout.lines().all(|line| line.split_whitespace().count() > 2));
    for (name, about) in names.into_iter().zip(abouts) {
        let help = place.run(&format!("run {name} --help")).ends_well().stdout;
        assert_eq!(help.lines().next(), Some(about.trim()));
        for option in [
            "--input",
            "--output",
            "--follow",
            "--delay",
            "--roll-size",
            "--ignore-missing",
            "--bad-records",
            "--dead-letter",
            "--max-record-size",
        ] {
            assert!(help.contains(option), "{name} {option}");
        }
        assert_eq!(help.contains("--header"), name == "flights");
    }
}

#[test]
fn help_of_run_has_every_option_and_no_option_of_a_job() {
    let help = Place::new().run("run --help").ends_well().stdout;
    for option in [
        "-s, --from-savepoint",
        "-n, --allow-non-restored-state",
        "--claim-mode",
        "--fresh",
        "-p, --parallelism",
        "--name",
        "-D, --define",
        "--config",
        "-d, --detached",
        "--summary",
        "--grace",
        "<JOB>",
    ] {
        assert!(help.contains(option), "{option}: {help}");
    }
    assert!(!help.contains("--input"));
}

#[test]
fn what_is_not_there_is_refused_with_what_was_meant() {
    let place = Place::new();
    place.write("in", "x\n");
    for (args, hint) in [
        ("run wordcont --input in --output out", "did you mean wordcount?"),
        ("run", "millstream jobs"),
        ("run --summry x pass", "did you mean --summary?"),
        ("run pass --input in --outptu out", "did you mean"),
        ("lst", "did you mean list?"),
        ("", "--help"),
        ("run pass --output out", "--help"),
        ("run ./nowhere --x", "job executable"),
        ("savepoint x", "did you mean checkpoint?"),
        ("stop pass --bogus", "see millstream stop --help"),
        ("cancel", "see millstream cancel --help"),
    ] {
        let before = place.everything();
        let error = place.run(args).refused();
        assert!(error.contains(hint), "{args}: {error}");
        assert_eq!(place.everything(), before, "{args}");
    }
}
