//! Stop, cancel, checkpoint on demand, and the dropped handle.

use millstream::connector::{CollectSink, Generator, channel};
use millstream::{Class, Env, JobState};
use std::path::Path;
use std::time::Duration;

fn checkpointed(dir: &Path) -> Env {
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_secs(600));
        settings.checkpointing.dir = Some(dir.to_owned());
    });
    env
}

/// CP-12: a checkpoint on demand, whatever the interval.
#[test]
fn cp_12_a_checkpoint_on_demand_is_complete_when_the_call_returns() {
    let dir = tempfile::tempdir().unwrap();
    let env = checkpointed(dir.path());
    let (sender, source) = channel::<u64>(16);
    let sink = CollectSink::new();
    let seen = sink.collected();
    env.source(source).uid("source").sink(sink).uid("sink");
    let job = env.start("demand").unwrap();
    sender.send(7).unwrap();
    let mut last = 0;
    // The record may still be on its way at the first barrier.
    while seen.is_empty() {
        let info = job.checkpoint().unwrap();
        assert!(info.id.0 > last, "ids grow (CP-13)");
        assert!(info.path.join("_metadata").is_file());
        last = info.id.0;
        wait_for_commit(&job);
    }
    assert_eq!(seen.take(), [7]);
    drop(sender);
    assert_eq!(job.wait().unwrap().state, JobState::Finished);
}

/// The commit follows the completed checkpoint: wait until the subtasks have been told.
fn wait_for_commit(job: &millstream::JobHandle) {
    let completed = job.metrics().checkpoints.counts().completed;
    while job.metrics().checkpoints.counts().completed < completed {
        std::thread::yield_now();
    }
}

/// Ruling 4: stop takes a final checkpoint, commits it and keeps it, and the next start goes on from it.
#[test]
fn a_stopped_job_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::<u64>::new();
    let seen = sink.collected();
    let start = |sink: CollectSink<u64>| {
        let env = checkpointed(dir.path());
        env.source(Generator::new(2_000_000, |i| i).rate(4_000_000)).uid("source").sink(sink).uid("sink");
        env.start("stopped").unwrap()
    };
    let job = start(sink.clone());
    while job.metrics().records_in == 0 {
        std::thread::yield_now();
    }
    let stopped = job.stop().unwrap();
    assert_eq!(stopped.state, JobState::Stopped);
    assert_eq!(stopped.records_out, seen.len() as u64);
    let kept = stopped.last_checkpoint.unwrap().path;
    assert!(kept.join("_metadata").is_file());

    let job = start(sink);
    assert_eq!(job.start_line(), format!("resuming from {}", kept.display()));
    let finished = job.wait().unwrap();
    assert_eq!(finished.state, JobState::Finished);
    assert_eq!(finished.records_in, 2_000_000, "each record counts once (ruling 29)");
    let mut all = seen.take();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..2_000_000), "every record once");
}

/// RT-02 in Millstream's form: cancel deletes the checkpoints, and ends at once.
#[test]
fn rt_02_cancel_deletes_the_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let env = checkpointed(dir.path());
    let (_sender, source) = channel::<u64>(16);
    env.source(source).sink(CollectSink::new());
    let job = env.start("cancelled").unwrap();
    let taken = job.checkpoint().unwrap().path;
    assert!(taken.exists());
    assert_eq!(job.cancel().unwrap().state, JobState::Canceled);
    assert!(!taken.exists());
}

/// Ruling 7: without an interval a checkpoint is refused, and the key is named.
#[test]
fn a_checkpoint_without_checkpointing_is_refused_naming_the_key() {
    let env = Env::new();
    let (_sender, source) = channel::<u64>(16);
    env.source(source).sink(CollectSink::new());
    let job = env.start("off").unwrap();
    let error = job.checkpoint().unwrap_err();
    assert!(error.to_string().contains("execution.checkpointing.interval"), "{error}");
    job.cancel().unwrap();
}

/// MS-079: dropping the handle returns at once, the threads end, nothing is committed or deleted.
#[test]
fn ms_079_dropping_the_handle_abandons_the_job() {
    let dir = tempfile::tempdir().unwrap();
    let env = checkpointed(dir.path());
    let (sender, source) = channel::<u64>(16);
    let sink = CollectSink::new();
    let seen = sink.collected();
    env.source(source).sink(sink);
    let job = env.start("dropped").unwrap();
    let taken = job.checkpoint().unwrap().path;
    sender.send(1).unwrap();
    drop(job);
    // The source is dropped with its thread: only then does sending fail.
    while sender.send(2).is_ok() {}
    assert!(seen.is_empty());
    assert!(taken.join("_metadata").is_file());
}

/// A job that leads nowhere, and one whose uids clash, are refused by name.
#[test]
fn bad_graphs_are_refused_by_name() {
    let env = Env::new();
    let error = env.start("empty").err().unwrap();
    assert_eq!(error.class(), Class::Refuse);

    let env = Env::new();
    env.source(Generator::new(1, |i| i)).uid("same").sink(CollectSink::new()).uid("same");
    let error = env.start("clash").err().unwrap();
    assert_eq!((error.class(), error.at()), (Class::Refuse, "same"));
}

/// MS-025: parallelism above the number of key groups, zero and below are refused, with the numbers.
#[test]
fn ms_025_parallelism_out_of_range_is_refused_with_both_numbers() {
    for (parallelism, named) in [(129, "129"), (0, "0"), (-3, "-3")] {
        let env = Env::new();
        let stream = env.source(Generator::new(1, |i| i)).parallelism(parallelism).max_parallelism(128);
        stream.sink(CollectSink::new());
        let error = env.start("wide").err().unwrap();
        assert_eq!(error.class(), Class::Refuse);
        assert!(error.to_string().contains(named), "{error}");
        if parallelism > 0 {
            assert!(error.to_string().contains("128"), "{error}");
        }
    }
}
