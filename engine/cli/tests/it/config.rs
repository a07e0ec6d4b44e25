//! Configuration from options and files, and what is refused before the first record.

use crate::support::Place;
use std::fs;

const PASS: &str = "pass --input in --output out --summary summary.json";

#[test]
fn ms_082_typos_and_bare_numbers_are_refused_by_key_and_allowed_form_and_nothing_is_created() {
    let place = Place::new();
    place.write("in", "x\n");
    place.write("bad.toml", "[execution.checkpointing]\nintervall = \"10s\"\n");
    place.write("broken.toml", "a = \n");
    let interval = "execution.checkpointing.interval";
    for (options, parts) in [
        (
            "-D checkpoint_intervall=10s",
            vec!["checkpoint_intervall", "did you mean execution.checkpointing.interval?"],
        ),
        ("-D execution.checkpointing.interval=10", vec![interval, "= 10", "us, ms, s, min, h, d"]),
        ("-D execution.checkpointing.interval=0", vec![interval, "= 0"]),
        ("-D execution.checkpointing.interval=0s", vec![interval, "at least 10ms"]),
        ("-D execution.checkpointing.interval=-1s", vec![interval, "= -1s"]),
        ("-D execution.checkpointing.interval=1e3ms", vec![interval, "= 1e3ms"]),
        ("-D execution.checkpointing.interval=99999999999999d", vec![interval, "too large"]),
        ("-D exchange.segment-size=32", vec!["exchange.segment-size", "b, kb, mb, gb, tb"]),
        ("-D state.backend.type=rocksdb", vec!["state.backend.type", "rocksdb"]),
        ("-D execution.checkpointing.snapshot-compression=true", vec!["does not support"]),
        ("-D nonsense", vec!["KEY=VALUE"]),
        (
            "--config bad.toml",
            vec!["bad.toml", "intervall", "did you mean execution.checkpointing.interval?"],
        ),
        ("--config broken.toml", vec!["broken.toml", "line 1"]),
        ("--config none.toml", vec!["none.toml"]),
        ("--grace 10", vec!["--grace", "us, ms, s, min, h, d"]),
        ("--fresh -s somewhere", vec!["fresh"]),
        (
            "-D execution.checkpointing.interval=10s -D execution.checkpointing.interval-during-backlog=5s",
            vec!["interval-during-backlog", "5s", "shorter than execution.checkpointing.interval, 10s"],
        ),
        ("-D state.backend.async=maybe", vec!["state.backend.async", "maybe", "true or false"]),
        ("--claim-mode legacy", vec!["claim-mode", "legacy"]),
    ] {
        let before = place.everything();
        let error = place.run(&format!("run {options} {PASS}")).refused();
        for part in parts {
            assert!(error.contains(part), "{options}: no '{part}' in {error}");
        }
        assert_eq!(place.everything(), before, "{options}");
    }
}

#[test]
fn ms_025_parallelism_beyond_the_key_groups_or_below_one_is_refused_with_the_numbers() {
    let place = Place::new();
    place.write("in", "x\n");
    for (options, parts) in [
        ("-p 129 -D pipeline.max-parallelism=128", vec!["129", "128"]),
        ("-p 0", vec!["0"]),
        ("-p -1", vec!["-1"]),
        ("-p many", vec!["many"]),
    ] {
        let error = place.run(&format!("run {options} {PASS}")).refused();
        assert!(parts.iter().all(|part| error.contains(part)), "{options}: {error}");
    }
}

#[test]
fn ms_009_a_checkpoint_directory_that_cannot_be_made_is_refused_with_path_and_cause() {
    let place = Place::new();
    place.write("in", "x\n");
    place.write("file", "in the way");
    let before = place.everything();
    let checkpoints = "-D execution.checkpointing.interval=1s -D execution.checkpointing.dir=file/ck";
    let error = place.run(&format!("run {checkpoints} {PASS}")).refused();
    assert!(error.contains("file/ck"), "{error}");
    assert_eq!(place.everything(), before);
}

#[test]
fn input_that_is_not_there_and_a_summary_that_cannot_be_written_are_refused() {
    let place = Place::new();
    place.write("in", "x\n");
    for (args, part) in [
        ("run pass --input none --output out", "none"),
        ("run pass --input in --output out --summary none/s.json", "none/s.json"),
        ("run pass --input in --output out --bad-records dead-letter", "--dead-letter"),
        ("run pass --input in --output out --max-record-size 1000", "--max-record-size"),
        ("run pass --input in --output in/out", "in/out"),
        (
            "run pass --input in --output out --bad-records dead-letter --dead-letter in/bad",
            "--dead-letter in/bad",
        ),
        ("run pass --input in --output out --bad-records drop", "fail | skip | dead-letter"),
        ("run dedup --input in --output out --ttl 1h", "state that expires"),
    ] {
        let before = place.everything();
        let error = place.run(args).refused();
        assert!(error.contains(part), "{args}: {error}");
        assert_eq!(place.everything(), before, "{args}");
    }
}

#[test]
fn a_file_configures_and_the_command_line_goes_before_it() {
    let place = Place::new();
    place.write("in", "a\nb\nc\n");
    place.write("job.toml", "parallelism.default = 3\n[execution.checkpointing]\ninterval = \"50ms\"\n");
    place.run(&format!("run --config job.toml {PASS}")).ends_well();
    assert_eq!(place.summary()["parallelism"], 3);
    assert!(place.path("home/checkpoints").is_dir());
    place.run(&format!("run --config job.toml -p 2 {PASS}")).ends_well();
    assert_eq!(place.summary()["parallelism"], 2);
}

/// A job that would read what it writes, or mix what is committed with what was rejected, is refused before it begins.
#[test]
fn directories_that_must_not_be_one_are_refused_by_name() {
    let place = Place::new();
    fs::create_dir_all(place.path("in/b")).unwrap();
    place.write("in/a", "x\n");
    place.write("in/b/c", "x\n");
    let checkpoints = "-D execution.checkpointing.interval=1s -D execution.checkpointing.dir=in/ck";
    for (args, parts) in [
        ("run pass --input in --output in".to_owned(), ["--output in", "input directory in"]),
        ("run pass --input in --output in/b/out".to_owned(), ["--output in/b/out", "input directory in"]),
        (
            "run pass --input in --output out --bad-records dead-letter --dead-letter in/bad".to_owned(),
            ["--dead-letter in/bad", "input directory in"],
        ),
        (
            "run pass --input in --output out --bad-records dead-letter --dead-letter out".to_owned(),
            ["--output out", "--dead-letter out"],
        ),
        (
            "run pass --input in --output bad/out --bad-records dead-letter --dead-letter bad".to_owned(),
            ["--output bad/out", "--dead-letter bad"],
        ),
        (
            format!("run {checkpoints} pass --input in --output out"),
            ["execution.checkpointing.dir in/ck", "input directory in"],
        ),
    ] {
        let before = place.everything();
        let error = place.run(&args).refused();
        assert!(parts.iter().all(|part| error.contains(part)), "{args}: {error}");
        assert_eq!(place.everything(), before, "{args}");
    }
    // Where nothing is written, and where nothing is read, it does no harm.
    place.run("run -D execution.checkpointing.dir=in/ck pass --input in --output in/.out").ends_well();
    assert_eq!(place.lines("in/.out"), ["x", "x"]);
}
