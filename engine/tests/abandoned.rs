//! A job that is abandoned while a subtask is in the middle of a step, or background work in the middle of its own.

use millstream::connector::{CollectSink, channel};
use millstream::runtime::Abandoned;
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::{CheckpointId, Class, ConnectorError, Env, Sink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Ruling 4: the job is over, and its lock free for another start, only when its threads are gone: a step that takes its
/// time is waited for.
#[test]
fn ruling_04_an_abandoned_job_is_over_when_its_last_step_is() {
    let dir = tempfile::tempdir().unwrap();
    let env = || {
        let env = Env::new();
        env.configure(|settings| {
            settings.checkpointing.interval = Some(Duration::from_secs(600));
            settings.checkpointing.dir = Some(dir.path().to_owned());
        });
        env
    };
    let ((entered, in_step), (never, pause)) = (mpsc::sync_channel(1), mpsc::channel::<()>());
    let pause = Arc::new(Mutex::new(pause));
    let (sender, source) = channel::<u64>(16);
    let left = Arc::new(AtomicBool::new(false));
    let leaves = left.clone();
    let first = env();
    let slow = first.source(source).filter(move |_| {
        entered.send(()).unwrap();
        // Nothing comes: the time passes within the step.
        let _ = pause.lock().unwrap().recv_timeout(Duration::from_millis(300));
        leaves.store(true, Ordering::Release);
        true
    });
    slow.sink(CollectSink::new());
    let job = first.start("slow").unwrap();
    sender.send(1).unwrap();
    in_step.recv().unwrap();
    job.control().abandon().unwrap();
    assert!(job.wait().is_err());
    assert!(left.load(Ordering::Acquire), "the step was still under way");
    drop(never);
    // Nobody holds the lock any more.
    let second = env();
    second.source(channel::<u64>(1).1).sink(CollectSink::new());
    second.start("slow").unwrap().cancel().unwrap();
}

/// Makes a checkpoint's files durable in its own time.
#[derive(Clone)]
struct SlowToSync {
    begun: mpsc::SyncSender<()>,
    done: Arc<AtomicBool>,
    /// Nothing ever comes: the time passes within the work.
    never: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Sink for SlowToSync {
    type In = u64;
    type State = ();

    fn open(&mut self, _: SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn write(&mut self, _: u64) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn pre_commit(&mut self, _: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        let own = self.clone();
        let work = move || {
            own.begun.send(()).unwrap();
            let _ = own.never.lock().unwrap().recv_timeout(Duration::from_millis(300));
            own.done.store(true, Ordering::Release);
            Ok(())
        };
        Ok(PreCommit { state: Vec::new(), work: Some(Box::new(work)) })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        Ok(())
    }
}

/// Ruling 4: so is background work, which would write into the directory of a checkpoint that the next start removes.
#[test]
fn ruling_04_an_abandoned_job_is_over_when_its_background_work_is() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_secs(600));
        settings.checkpointing.dir = Some(dir.path().to_owned());
    });
    let ((begun, in_work), (_never, never)) = (mpsc::sync_channel(1), mpsc::channel::<()>());
    let done = Arc::new(AtomicBool::new(false));
    let sink = SlowToSync { begun, done: done.clone(), never: Arc::new(Mutex::new(never)) };
    let (_sender, source) = channel::<u64>(16);
    env.source(source).sink(sink);
    let job = env.start("slow").unwrap();
    let request = job.control().request_checkpoint(false).unwrap();
    in_work.recv().unwrap();
    job.control().abandon().unwrap();
    let error = job.wait().unwrap_err();
    assert!(error.cause().is::<Abandoned>() && request.wait().is_err(), "{error}");
    assert!(done.load(Ordering::Acquire), "the work was still under way");
}

/// By its name a job finds its checkpoints.
#[test]
fn a_job_without_a_name_is_refused() {
    for name in ["", " ", "\t"] {
        let env = Env::new();
        env.source(channel::<u64>(1).1).sink(CollectSink::new());
        let error = env.start(name).err().expect("refused");
        assert_eq!((error.class(), error.at()), (Class::Refuse, "job name"));
    }
}
