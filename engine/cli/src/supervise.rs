//! Watching a job until it ends: progress, signals, the time allowed for a clean stop.

use crate::failure::Failure;
use crate::progress::{Progress, Seen};
use crate::say::say;
use crate::table::duration;
use millstream::Ending;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How a job ended that has not finished: with one that has the process ends, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Cancelled.
    Canceled,
    /// Suspended, to go on later, or stopped for good; its final checkpoint.
    Stopped(Option<String>),
    /// Failed for good.
    Failed(Failure),
}

/// What can happen to a job that is watched.
#[derive(Debug)]
pub enum Event {
    /// A signal asks for a clean stop.
    Signal(i32),
    /// A client has asked for the end, which the job has been told of: with this verb.
    Asked(&'static str),
    /// All is processed and committed; what keeps that from being the end is the answer.
    Finishing(Box<Ending>, Sender<Failure>),
    /// It ended.
    Ended(Ended),
    /// It ended as a crash does, because it had not ended in time.
    Abandoned,
}

/// A job that is watched.
pub trait Watched: Send + Sync {
    /// Begins to suspend: a final checkpoint, then the end. Does not wait for it.
    fn suspend(&self);

    /// Begins to end as a crash does. Does not wait for it.
    fn abandon(&self);

    /// What the progress line shows.
    fn seen(&self) -> Seen;
}

/// How often the progress line is written.
const TICK: Duration = Duration::from_millis(200);

/// How long a job that has not ended in time has for its present steps: what they commit belongs to the figures of the
/// run. A step that takes longer, in a user's function most likely, is left where it is.
const LAST_STEP: Duration = Duration::from_secs(2);

/// Watches a job until it ends, or until it has had `grace` to do so after a signal or a client has asked for it; then it
/// is abandoned, so that nothing more becomes visible behind the figures of the run. `conclude` does what belongs to the end of a job that has finished, puts it on record, and leaves the process.
///
/// # Errors
/// The grace is over.
pub fn supervise(
    job: &Arc<dyn Watched>,
    events: &Receiver<Event>,
    grace: Duration,
    conclude: &mut dyn FnMut(Ending) -> Result<Infallible, Failure>,
) -> Result<Ended, Failure> {
    let mut progress = Progress::on_terminal();
    let begun = Instant::now();
    // When the end is due, and who asked for it first.
    let mut deadline: Option<(Instant, &str)> = None;
    // What to say of a job that has not ended in time, and is about to be left.
    let mut late: Option<Failure> = None;
    loop {
        let left = deadline.map_or(TICK, |(due, _)| due.saturating_duration_since(Instant::now()).min(TICK));
        match events.recv_timeout(left) {
            Ok(Event::Ended(ended)) => {
                progress.clear();
                return Ok(ended);
            }
            Ok(Event::Abandoned) => break,
            Ok(Event::Finishing(ending, answer)) => {
                progress.clear();
                let Err(failure) = conclude(*ending);
                // The engine waits for it, and then reports that the job has failed.
                let _ = answer.send(failure);
            }
            Ok(Event::Signal(signal)) => {
                progress.clear();
                say(format_args!("signal {signal}: suspending"));
                deadline = deadline.or_else(|| Some((Instant::now().checked_add(grace)?, "suspend")));
                job.suspend();
            }
            Ok(Event::Asked(verb)) => {
                deadline = deadline.or_else(|| Some((Instant::now().checked_add(grace)?, verb)));
            }
            Err(RecvTimeoutError::Timeout) => progress.show(begun.elapsed(), job.seen()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((due, verb)) = deadline
            && Instant::now() >= due
        {
            progress.clear();
            if late.is_some() {
                break;
            }
            job.abandon();
            late = Some(not_done(verb, grace));
            deadline = Some((Instant::now() + LAST_STEP, verb));
        }
    }
    Err(late.unwrap_or_else(|| Failure::failed("watch", "job", "it ended without a word")))
}

fn not_done(verb: &str, grace: Duration) -> Failure {
    let grace = duration(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    let cause = format!("not done within {grace}; the checkpoints that completed are kept");
    Failure::failed(verb, "job", cause).hint("--grace allows more time")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    /// A job that ends as told when it is asked to suspend.
    struct Fake(Mutex<Option<(Sender<Event>, Ended)>>);

    impl Watched for Fake {
        fn suspend(&self) {
            if let Some((sender, ended)) = self.0.lock().unwrap().take() {
                sender.send(Event::Ended(ended)).unwrap();
            }
        }

        fn abandon(&self) {}

        fn seen(&self) -> Seen {
            Seen::default()
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// Jobs that do not finish have nothing to conclude.
    fn nothing(_: Ending) -> Result<Infallible, Failure> {
        panic!("the job has not finished")
    }

    #[test]
    fn a_job_that_ends_by_itself_is_reported() {
        let (sender, events) = channel();
        sender.send(Event::Ended(Ended::Canceled)).unwrap();
        let job: Arc<dyn Watched> = Arc::new(Fake(Mutex::new(None)));
        assert_eq!(supervise(&job, &events, SECOND, &mut nothing).unwrap(), Ended::Canceled);
    }

    #[test]
    fn ms_077_a_signal_suspends() {
        let (sender, events) = channel();
        let stopped = Ended::Stopped(Some("/ck/chk-9".to_owned()));
        sender.send(Event::Signal(15)).unwrap();
        let job: Arc<dyn Watched> = Arc::new(Fake(Mutex::new(Some((sender, stopped.clone())))));
        assert_eq!(supervise(&job, &events, 60 * SECOND, &mut nothing).unwrap(), stopped);
    }

    #[test]
    fn ms_077_a_job_that_does_not_end_in_time_is_left_with_exit_code_1() {
        let (sender, events) = channel();
        sender.send(Event::Signal(15)).unwrap();
        let job: Arc<dyn Watched> = Arc::new(Fake(Mutex::new(None)));
        let failure = supervise(&job, &events, SECOND / 50, &mut nothing).unwrap_err();
        assert_eq!(failure.code, 1);
        assert!(failure.cause.contains("20ms"), "{failure}");
        drop(sender);
    }

    /// A job that ends as told when it is abandoned, and not before.
    struct Slow(Mutex<Option<(Sender<Event>, Event)>>);

    impl Watched for Slow {
        fn suspend(&self) {}

        fn abandon(&self) {
            let (sender, event) = self.0.lock().unwrap().take().unwrap();
            sender.send(event).unwrap();
        }

        fn seen(&self) -> Seen {
            Seen::default()
        }
    }

    /// Ruling 4: what a late job does in its last steps is waited for, since it belongs to what the run reports.
    #[test]
    fn ruling_04_a_job_that_is_late_is_abandoned_and_its_last_steps_are_waited_for() {
        let supervised = |event| {
            let (sender, events) = channel();
            sender.send(Event::Signal(15)).unwrap();
            let job: Arc<dyn Watched> = Arc::new(Slow(Mutex::new(Some((sender, event)))));
            supervise(&job, &events, SECOND / 50, &mut nothing)
        };
        let late = supervised(Event::Abandoned).unwrap_err();
        assert_eq!((late.code, &*late.what), (1, "suspend"));
        let stopped = Ended::Stopped(Some("/ck/chk-9".to_owned()));
        assert_eq!(supervised(Event::Ended(stopped.clone())).unwrap(), stopped, "it was done all the same");
    }

    #[test]
    fn ms_077_a_client_that_asks_for_the_end_gives_a_job_as_much_time_as_a_signal() {
        let (sender, events) = channel();
        sender.send(Event::Asked("cancel")).unwrap();
        sender.send(Event::Asked("stop")).unwrap();
        let job: Arc<dyn Watched> = Arc::new(Fake(Mutex::new(None)));
        let failure = supervise(&job, &events, SECOND / 50, &mut nothing).unwrap_err();
        assert_eq!((failure.code, &*failure.what), (1, "cancel"), "the first one counts");
        drop(sender);
    }
}
