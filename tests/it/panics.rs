//! User code that panics or fails: an error, never more than the job's end.

use millstream::connector::{CollectSink, Generator};
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::source::{Poll, SourceContext};
use millstream::{CheckpointId, Class, ConnectorError, Emit, Env, JobState, Sink, Source};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn without_restart() -> Env {
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_millis(20));
        settings.restart.kind = millstream::config::RestartKind::None;
    });
    env
}

/// Where a sink panics.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Prepare,
    Write,
    PreCommit,
    Commit,
    Nowhere,
}

#[derive(Clone)]
struct Panicking(At);

impl Sink for Panicking {
    type In = u64;
    type State = ();

    fn prepare(&mut self, _: &SinkContext, _: &[()], _: &[()]) -> Result<(), ConnectorError> {
        assert!(self.0 != At::Prepare, "boom in prepare");
        Ok(())
    }

    fn open(&mut self, _: SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn write(&mut self, _: u64) -> Result<(), ConnectorError> {
        assert!(self.0 != At::Write, "boom in write");
        Ok(())
    }

    fn pre_commit(&mut self, _: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        assert!(self.0 != At::PreCommit, "boom in pre-commit");
        Ok(PreCommit { state: Vec::new(), work: None })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        assert!(self.0 != At::Commit, "boom in commit");
        Ok(())
    }
}

/// MS-080: a panic in a map, a keyed function, a sink's write, pre-commit or commit becomes an error with its text.
#[test]
fn ms_080_a_panic_in_user_code_is_an_error_with_its_text() {
    let in_map = without_restart();
    in_map
        .source(Generator::new(10, |i| i))
        .map(|i| if i == 5 { panic!("boom in map") } else { i })
        .sink(CollectSink::new());
    let in_process = without_restart();
    in_process
        .source(Generator::new(10, |i| i))
        .key_by::<u64>(|i| i.get())
        .process::<u64, u64>("p", |_, i, _, _| assert!(i != 5, "boom in process"))
        .sink(CollectSink::new());
    let mut cases = vec![(in_map, "boom in map"), (in_process, "boom in process")];
    for (at, text) in
        [(At::Write, "boom in write"), (At::PreCommit, "boom in pre-commit"), (At::Commit, "boom in commit")]
    {
        let env = without_restart();
        env.source(Generator::new(10, |i| i)).sink(Panicking(at));
        cases.push((env, text));
    }
    // A second job in the same process is undisturbed.
    let other = Env::new();
    let sink = CollectSink::new();
    let seen = sink.collected();
    other.source(Generator::new(1000, |i| i).rate(10_000)).sink(sink);
    let other = other.start("undisturbed").unwrap();
    for (env, text) in cases {
        let error = env.execute("panics").unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(error.what(), "operator");
    }
    assert_eq!(other.wait().unwrap().state, JobState::Finished);
    assert_eq!(seen.len(), 1000);
}

/// A source of three numbers that panics where it is asked for its splits, or to check them.
#[derive(Clone)]
struct PanickingSource {
    discover: bool,
    check: bool,
    left: u64,
}

impl Source for PanickingSource {
    type Out = u64;
    type Split = u64;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<u64>, ConnectorError> {
        assert!(!self.discover, "boom in discover");
        Ok(vec![0])
    }

    fn check(&mut self, _: &SourceContext, splits: Vec<u64>, _: bool) -> Result<Vec<u64>, ConnectorError> {
        assert!(!self.check, "boom in check");
        Ok(splits)
    }

    fn open(&mut self, _: SourceContext, splits: Vec<u64>) -> Result<(), ConnectorError> {
        self.left = if splits.is_empty() { 0 } else { 3 };
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<u64>) -> Result<Poll, ConnectorError> {
        (0..std::mem::take(&mut self.left)).for_each(|i| out.emit(i));
        Ok(Poll::Idle(None))
    }

    fn snapshot(&mut self) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![0])
    }
}

/// MS-070: what is called once for a whole operator, before its subtasks run, may panic as well: the start is refused.
#[test]
fn ms_070_a_panic_before_the_first_record_refuses_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let start = |source: PanickingSource, at: At| {
        let env = without_restart();
        env.configure(|settings| settings.checkpointing.dir = Some(dir.path().to_owned()));
        env.source(source).uid("source").name("numbers").sink(Panicking(at)).uid("sink").name("wall");
        env.start("panics")
    };
    let source = |discover, check| PanickingSource { discover, check, left: 0 };
    let refused =
        |started: Result<millstream::JobHandle, millstream::Error>, operator: &str, method: &str| {
            let error = started.err().expect("refused");
            let text = format!("operator: {operator}: panicked in {method}: boom in {method}");
            assert_eq!((error.to_string(), error.class()), (text, Class::Refuse));
        };
    refused(start(source(true, false), At::Write), "numbers", "discover");
    refused(start(source(false, false), At::Prepare), "wall", "prepare");
    // Of a job that has a checkpoint.
    start(source(false, false), At::Nowhere).unwrap().stop().unwrap();
    refused(start(source(false, true), At::Write), "numbers", "check");
}

/// MS-070: what is called at the end of a job.
#[test]
fn ms_070_a_panic_in_before_end_is_named() {
    let env = without_restart();
    env.source(Generator::new(10, |i| i)).sink(CollectSink::new());
    env.before_end(|_| panic!("boom"));
    let job = env.start("late").unwrap();
    let control = job.control();
    let error = job.wait().unwrap_err();
    assert_eq!(error.to_string(), "job: late: panicked in before_end: boom");
    assert_eq!(control.metrics().state, JobState::Failed);
}

/// Panics when it is dropped after a record has passed.
#[derive(Clone)]
struct Touchy(Arc<AtomicU32>);

impl Touchy {
    fn touch(&self) {
        self.0.store(1, Ordering::Relaxed);
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        assert!(self.0.load(Ordering::Relaxed) == 0, "boom in drop");
    }
}

/// MS-070: a function that cannot be dropped costs neither the job's end nor the process.
#[test]
fn ms_070_a_panic_when_a_function_is_dropped_takes_no_outcome_with_it() {
    for checkpoints in [true, false] {
        let env = Env::new();
        if checkpoints {
            env.configure(|s| s.checkpointing.interval = Some(Duration::from_millis(20)));
        }
        let touched = Arc::new(AtomicU32::new(0));
        let (in_map, in_process) = (Touchy(touched.clone()), Touchy(touched));
        let sink = CollectSink::new();
        let seen = sink.collected();
        env.source(Generator::new(10, |i| i))
            .map(move |i| {
                in_map.touch();
                i
            })
            .key_by::<u64>(|i| i.get())
            .process::<u64, u64>("p", move |_, i, _, out| {
                in_process.touch();
                out.emit(i);
            })
            .sink(sink);
        let summary = env.execute("touchy").unwrap();
        assert_eq!((summary.state, summary.records_out, summary.restarts), (JobState::Finished, 10, 0));
        assert_eq!(seen.len(), 10);
    }
}

/// MS-070: a function that panics once; the next start recovers from the last checkpoint, and the result is exact.
#[test]
fn ms_070_the_next_start_after_a_panic_is_exact() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::<u64>::new();
    let seen = sink.collected();
    let tries = Arc::new(AtomicU32::new(0));
    let run = || {
        let env = without_restart();
        env.configure(|settings| settings.checkpointing.dir = Some(dir.path().to_owned()));
        let tries = tries.clone();
        env.source(Generator::new(10_000, |i| i).rate(50_000))
            .uid("source")
            .map(move |i| {
                if i == 5_000 && tries.fetch_add(1, Ordering::Relaxed) == 0 {
                    panic!("once");
                }
                i
            })
            .sink(sink.clone())
            .uid("sink");
        env.execute("panics-once")
    };
    let error = run().unwrap_err();
    assert!(error.to_string().contains("once"), "{error}");
    let summary = run().unwrap();
    assert!(summary.restored_from.is_some());
    let mut all = seen.take();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..10_000));
}

/// MS-076: three restarts are three; each attempt fails at the same record; the last error is given with its cause.
#[test]
fn ms_076_a_budget_of_three_restarts_makes_four_attempts() {
    let attempts = Arc::new(AtomicU32::new(0));
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_secs(600));
        settings.restart.kind = millstream::config::RestartKind::ExponentialDelay;
        settings.restart.exponential_delay.initial_backoff = Duration::from_millis(5);
        settings.restart.exponential_delay.attempts_before_reset = Some(3);
    });
    let count = attempts.clone();
    env.source(Generator::new(10, |i| i))
        .map(move |i| {
            if i == 3 {
                count.fetch_add(1, Ordering::Relaxed);
                panic!("always at three");
            }
            i
        })
        .sink(CollectSink::new());
    let error = env.execute("budget").unwrap_err();
    assert_eq!(attempts.load(Ordering::Relaxed), 4);
    assert!(error.to_string().contains("always at three"), "{error}");
    assert!(error.to_string().contains("exponential-delay"), "{error}");
    assert_eq!(error.class(), Class::Restart);
}

/// Ruling 8: an error of the data is not met again by restarting.
#[test]
fn an_error_of_the_data_fails_the_job_at_once() {
    let attempts = Arc::new(AtomicU32::new(0));
    let env = Env::new();
    env.configure(|settings| settings.checkpointing.interval = Some(Duration::from_secs(600)));
    let count = attempts.clone();
    env.source(Generator::new(10, |i| i))
        .flat_map::<u64>(move |i, out| {
            if i == 3 {
                count.fetch_add(1, Ordering::Relaxed);
                out.fail(ConnectorError::new(Class::Data, "parse", "record 3", "not a number"));
            }
        })
        .sink(CollectSink::new());
    let error = env.execute("data").unwrap_err();
    assert_eq!(error.to_string(), "parse: record 3: not a number");
    assert_eq!(attempts.load(Ordering::Relaxed), 1);
}
