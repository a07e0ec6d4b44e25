//! A start that is refused creates and deletes nothing, and changes nothing that a later start goes on from.

use millstream::connector::{CollectSink, FileSink, FileSource, Generator};
use millstream::{Class, Env, JobState};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn env(checkpoints: &Path, fresh: bool) -> Env {
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_secs(600));
        settings.checkpointing.dir = Some(checkpoints.to_owned());
        settings.recovery.fresh = fresh;
    });
    env
}

/// All paths below `dir`, with what files hold.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.push((path, Vec::new()));
        } else {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
    found.sort();
    found
}

/// A job with a kept checkpoint.
fn suspended(checkpoints: &Path) -> PathBuf {
    let env = env(checkpoints, false);
    let source = Generator::new(1_000_000, |i| i).rate(100_000);
    env.source(source).uid("source").sink(CollectSink::new()).uid("sink");
    let job = env.start("refused").unwrap();
    let stopped = job.stop().unwrap();
    assert_eq!(stopped.state, JobState::Stopped);
    stopped.last_checkpoint.unwrap().path
}

/// An input that does not exist: found before anything is created.
#[test]
fn a_missing_input_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let checkpoints = dir.path().join("checkpoints");
    let env = env(&checkpoints, false);
    env.source(FileSource::lines([dir.path().join("no-such-file")])).sink(CollectSink::new());
    let error = env.start("refused").err().unwrap();
    assert_eq!(error.class(), Class::Refuse);
    assert!(error.to_string().contains("no-such-file"), "{error}");
    assert!(tree(dir.path()).is_empty());
}

/// MS-020: `--fresh` with a mistake in it is refused; the next plain start goes on as if nobody had tried.
#[test]
fn ms_020_a_refused_fresh_start_does_not_begin_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let checkpoints = dir.path().join("checkpoints");
    let kept = suspended(&checkpoints);
    let before = tree(&checkpoints);
    let file = dir.path().join("a-file");
    fs::write(&file, "in the way").unwrap();

    let bad_input = env(&checkpoints, true);
    bad_input.source(FileSource::lines([dir.path().join("no-such-file")])).sink(CollectSink::new());
    assert_eq!(bad_input.start("refused").err().unwrap().class(), Class::Refuse);
    assert_eq!(tree(&checkpoints), before);

    let bad_output = env(&checkpoints, true);
    let lines = Generator::new(10, |i: u64| i.to_string());
    bad_output.source(lines).sink(FileSink::lines(file.join("out")));
    assert_eq!(bad_output.start("refused").err().unwrap().class(), Class::Refuse);
    assert_eq!(tree(&checkpoints), before);

    let env = env(&checkpoints, false);
    env.source(Generator::new(1_000_000, |i| i)).uid("source").sink(CollectSink::new()).uid("sink");
    let job = env.start("refused").unwrap();
    assert_eq!(job.start_line(), format!("resuming from {}", kept.display()));
    assert_eq!(job.wait().unwrap().records_in, 1_000_000);
}
