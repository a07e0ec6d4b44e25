//! What a report says of a job that did not come to its end (ruling 29).

use crate::set_up::env;
use millstream::config::RestartKind;
use millstream::connector::{FileSink, Sender, channel};
use millstream::{JobHandle, JobState};
use std::path::Path;

/// Lines in visible files.
fn visible(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let seen = files.filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
    seen.map(|file| std::fs::read_to_string(file.path()).unwrap().lines().count() as u64).sum()
}

/// A job that writes what it is fed, two lines to a file.
fn job(dir: &Path) -> (Sender<String>, JobHandle) {
    let env = env(&dir.join("checkpoints"));
    env.configure(|settings| settings.restart.kind = RestartKind::None);
    let (feed, source) = channel::<String>(10);
    let lines = env.source(source).uid("source").map(|line| {
        assert_ne!(line, "panic");
        line.to_owned()
    });
    lines.sink(FileSink::<String, _>::lines(dir.join("out")).roll_size(4)).uid("sink");
    (feed, env.start("counts").unwrap())
}

/// Feeds so many lines, and waits until a checkpoint has them.
fn checkpoint_after(lines: u64, feed: &Sender<String>, job: &JobHandle) {
    let before = job.metrics().records_in;
    (0..lines).for_each(|_| feed.send("x".to_owned()).unwrap());
    while job.metrics().records_in < before + lines || job.checkpoint().is_err() {
        std::thread::yield_now();
    }
}

/// Five lines are written; two files of two are committed by a checkpoint, the fifth line stands in an open file. Then
/// comes the end.
fn five_lines_then(end: impl FnOnce(JobHandle, &Sender<String>)) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let (feed, job) = job(dir.path());
    checkpoint_after(5, &feed, &job);
    while visible(&out) < 4 {
        std::thread::yield_now();
    }
    let control = job.control();
    end(job, &feed);
    let metrics = control.metrics();
    assert_eq!((metrics.records_in, metrics.records_out, visible(&out)), (5, 4, 4), "{}", metrics.state);
    assert_eq!((metrics.records_replayed, metrics.restarts), (0, 0), "{}", metrics.state);
}

#[test]
fn ruling_29_a_cancelled_job_reports_what_is_visible() {
    five_lines_then(|job, _| {
        let summary = job.cancel().unwrap();
        assert_eq!((summary.state, summary.records_out), (JobState::Canceled, 4));
    });
}

#[test]
fn ruling_29_a_job_that_fails_for_good_reports_what_is_visible_and_has_replayed_nothing() {
    five_lines_then(|job, feed| {
        let control = job.control();
        feed.send("x".to_owned()).unwrap();
        while control.metrics().records_in < 6 {
            std::thread::yield_now();
        }
        feed.send("panic".to_owned()).unwrap();
        job.wait().unwrap_err();
        assert_eq!(control.metrics().state, JobState::Failed);
    });
}

/// The checkpoint that a later run goes on from has counted what it makes visible, once.
#[test]
fn ruling_29_a_later_run_goes_on_counting() {
    let dir = tempfile::tempdir().unwrap();
    for (lines, total) in [(5, 5), (2, 7), (0, 7)] {
        let (feed, job) = job(dir.path());
        checkpoint_after(lines, &feed, &job);
        let summary = job.stop().unwrap();
        let counted = (summary.records_in, summary.records_out, visible(&dir.path().join("out")));
        assert_eq!(counted, (total, total, total));
    }
}
