//! What every subtask does the same way: messages, barriers, snapshots, time.

mod drain;

pub(crate) use drain::Beside;

use super::drain_pace::DrainPace;
use super::flow::CHUNKS;
use super::held::{Held, Next};
use super::message::{Message, Report, Reporter};
use super::pace::Watch;
use super::snapshot::{Pending, SnapshotWriter};
use super::{Fault, Progress, Restored, TaskSettings};
use crate::checkpoint::{AckMetrics, Barrier, CheckpointFailure, CheckpointKind};
use crate::error::Error;
use crate::operator::{Control, Signal, SnapshotParts};
use crossbeam_channel::Receiver;
use millstream_io::clock::{Clock, Moment};
use millstream_io::counters::{Counters, Doing};
use millstream_io::id::CheckpointId;
use millstream_state::OperatorId;
use millstream_state::snapshot::ListSnapshot;
use std::sync::Arc;
use std::time::Duration;

/// Where a subtask is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its state is yet to be restored.
    Opening,
    /// It takes input.
    Running,
    /// Its input has ended, it emits what is left.
    Finishing,
    /// It has emitted everything and waits for the final checkpoint (CP-31).
    Ended,
    /// It has passed the last barrier before a stop and takes no more input until that checkpoint is complete.
    Parked(CheckpointId),
    /// It is over.
    Closed,
}

/// The common part of a subtask.
pub(crate) struct Core {
    pub(crate) phase: Phase,
    pub(crate) fault: Fault,
    pub(crate) settings: Arc<TaskSettings>,
    pub(crate) reporter: Reporter,
    pub(crate) clock: Arc<dyn Clock>,
    mailbox: Receiver<Message>,
    writer: SnapshotWriter,
    pending: Option<Pending>,
    /// Barriers behind a drain.
    held: Held,
    /// The newest barrier that overtakes something, which is part of its snapshot.
    overtakes: Option<CheckpointId>,
    pace: DrainPace,
    /// How far the drain under way is.
    drained: (u64, u64),
    /// Bytes of copies of what has changed before its turn.
    kept: usize,
    /// What the subtask goes back to when the checkpoint it is parked for fails.
    parked_in: Phase,
    tick_due: Option<Moment>,
    flushed: Moment,
    /// What time goes into now.
    doing: Option<Doing>,
}

impl Core {
    pub(crate) fn new(
        mailbox: Receiver<Message>,
        reporter: Reporter,
        clock: Arc<dyn Clock>,
        fault: Fault,
        settings: Arc<TaskSettings>,
        writer: SnapshotWriter,
    ) -> Self {
        let keep = settings.keep.max(settings.chunk.saturating_mul(CHUNKS));
        let pace = DrainPace::new(settings.interval, settings.chunk, keep);
        Self {
            phase: Phase::Opening,
            fault,
            settings,
            reporter,
            clock,
            mailbox,
            writer,
            pending: None,
            held: Held::default(),
            overtakes: None,
            pace,
            drained: (0, 0),
            kept: 0,
            parked_in: Phase::Running,
            tick_due: Some(Duration::ZERO),
            flushed: Duration::ZERO,
            doing: None,
        }
    }

    /// A step begins. When, where that may matter to [`Core::spend`].
    pub(crate) fn step_begins(&self) -> Option<Moment> {
        (self.doing != Some(Doing::Busy)).then(|| self.clock.now())
    }

    /// A step has been taken, and until the next one time goes into the same. The clock is looked at when that changes.
    pub(crate) fn spend(&mut self, progress: Progress, begun: Option<Moment>) {
        let doing = match progress {
            Progress::Worked | Progress::Finished => Doing::Busy,
            Progress::Idle(_) => Doing::Idle,
            Progress::Blocked(_) => Doing::BackPressured,
        };
        if self.doing != Some(doing) {
            self.doing = Some(doing);
            self.counters().time.begin(doing, begun.unwrap_or_else(|| self.clock.now()));
        }
    }

    /// What the subtask counts.
    pub(crate) fn counters(&self) -> &Counters {
        &self.writer.counters
    }

    /// What a step looks at while it lasts.
    pub(crate) fn watch(&self) -> Watch<'_> {
        Watch { clock: &*self.clock, mailbox: &self.mailbox }
    }

    /// The next message, if there is one.
    pub(crate) fn message(&self) -> Option<Message> {
        self.mailbox.try_recv().ok()
    }

    /// The chain has restored its state.
    pub(crate) fn restored(&mut self, restored: &mut Restored) -> Result<(), Error> {
        self.writer.go_on(restored)
    }

    /// The subtask runs from now on.
    pub(crate) fn opened(&mut self) {
        self.phase = Phase::Running;
        self.reporter.report(Report::Running);
    }

    /// The snapshot that was restored says that the subtask had ended; it only takes part in what follows (CP-28).
    pub(crate) fn already_ended(&mut self) {
        self.phase = Phase::Ended;
        self.reporter.report(Report::Running);
        self.reporter.report(Report::EndOfData);
    }

    /// A barrier has come; [`Core::pass`] lets it pass. Nothing that comes behind it may be taken before.
    pub(crate) fn arrive(&mut self, barrier: Barrier, metrics: AckMetrics, overtakes: bool) {
        if overtakes {
            self.overtakes = Some(barrier.id);
        }
        if self.held.arrive(barrier, metrics, self.clock.now()) {
            self.counters().barrier.complete(metrics.start_delay, metrics.alignment);
        }
    }

    /// There will be no barrier of this checkpoint, which those behind learn after the barriers that have come.
    pub(crate) fn cancel(&mut self, id: CheckpointId, chain: &mut impl Control) -> Result<(), Error> {
        if self.is_holding() {
            self.held.cancel(id);
            return Ok(());
        }
        chain.signal(&mut Signal::Cancel(id))
    }

    /// Whether a barrier waits.
    pub(crate) fn is_holding(&self) -> bool {
        self.phase != Phase::Closed && !self.held.is_empty()
    }

    /// Lets the next barrier that has come pass, and says which, unless there is none or it has to wait: one that comes during a
    /// drain finishes the drain first (ruling 13), and that as the disk takes it. Whoever finds that it has to wait is woken.
    pub(crate) fn pass(&mut self, chain: &mut impl Control) -> Result<Option<CheckpointId>, Error> {
        while self.is_holding() {
            let wait = self.held.is_barrier() && !self.end_drain(chain)?;
            match self.held.next(wait) {
                Some(Next::Barrier(barrier, metrics, came)) => {
                    self.barrier(barrier, metrics, came, chain)?;
                    return Ok(Some(barrier.id));
                }
                Some(Next::Cancel(id)) => chain.signal(&mut Signal::Cancel(id))?,
                None => break,
            }
        }
        Ok(None)
    }

    /// CP-23 as one indivisible step: hook, barrier onward, synchronous part; the rest follows in [`Core::drain`].
    fn barrier(
        &mut self,
        barrier: Barrier,
        mut metrics: AckMetrics,
        came: Moment,
        chain: &mut impl Control,
    ) -> Result<(), Error> {
        // What still waits for barriers of its own has been given up by whoever sends this one.
        if let Some(pending) = &mut self.pending {
            pending.aborted();
        }
        self.hand_in();
        self.fault.check()?;
        let full = !self.settings.incremental || barrier.kind == CheckpointKind::FullCheckpoint;
        if self.writer.turns.take_base_wanted() || full {
            chain.signal(&mut Signal::ForgetBase)?;
        }
        let mut parts = SnapshotParts::default();
        chain.signal(&mut Signal::Barrier(barrier, &mut parts))?;
        self.fault.check()?;
        let now = self.clock.now();
        // With the drain that it has waited for.
        metrics.sync = now.saturating_sub(came);
        let ended = matches!(self.phase, Phase::Ended);
        self.pending = Some(self.writer.begin(barrier, parts, metrics, ended, &self.reporter));
        self.pace.begin(now);
        if let Some(pending) = &mut self.pending {
            pending.awaits_in_flight = self.overtakes == Some(barrier.id);
        }
        if barrier.last {
            self.parked_in = self.phase;
            self.phase = Phase::Parked(barrier.id);
        }
        self.drain(0, chain)?;
        Ok(())
    }

    /// What was in flight at the snapshot of this checkpoint is complete.
    pub(crate) fn in_flight(
        &mut self,
        id: CheckpointId,
        head: OperatorId,
        records: ListSnapshot,
        bytes: u64,
    ) {
        if let Some(pending) = self.pending.as_mut().filter(|pending| pending.barrier.id == id) {
            pending.in_flight(head, records, bytes);
        }
        self.hand_in();
    }

    /// Hands over a snapshot that has everything.
    fn hand_in(&mut self) {
        if let Some(pending) = self.pending.take_if(|pending| pending.drained && !pending.awaits_in_flight) {
            self.writer.finish(pending, &self.reporter);
        }
    }

    /// Messages that mean the same to every subtask.
    pub(crate) fn handle(&mut self, message: Message, chain: &mut impl Control) -> Result<(), Error> {
        match message {
            Message::Trigger(barrier) => {
                let start_delay = self.clock.now().saturating_sub(barrier.timestamp);
                self.arrive(barrier, AckMetrics { start_delay, ..AckMetrics::default() }, false);
                while self.pass(chain)?.is_some() {}
                Ok(())
            }
            Message::Complete(permit) => {
                let id = permit.checkpoint();
                self.writer.forget_up_to(id);
                chain.signal(&mut Signal::Complete(permit))?;
                // What was parked at its last barrier has now been committed: that was all (ruling 4).
                if self.phase == Phase::Parked(id) {
                    self.close(chain)?;
                }
                Ok(())
            }
            Message::Aborted(id) => self.aborted(id, chain),
            Message::PreCommitAtEnd => {
                chain.signal(&mut Signal::PreCommitAtEnd)?;
                self.reporter.report(Report::PreCommitted);
                Ok(())
            }
            Message::CommitAtEnd => {
                chain.signal(&mut Signal::CommitAtEnd)?;
                self.reporter.report(Report::Committed);
                Ok(())
            }
            Message::Close => self.close(chain),
        }
    }

    /// Once, however often it is asked for: the supervisor counts on one report from each subtask.
    fn close(&mut self, chain: &mut impl Control) -> Result<(), Error> {
        if self.phase == Phase::Closed {
            return Ok(());
        }
        chain.signal(&mut Signal::Close)?;
        self.phase = Phase::Closed;
        self.reporter.report(Report::Closed);
        Ok(())
    }

    /// CP-16: stop what is under way for it, tell the operators once, go on if this was the last one before a stop.
    fn aborted(&mut self, id: CheckpointId, chain: &mut impl Control) -> Result<(), Error> {
        self.lose(id, chain)?;
        self.writer.cancel(id);
        self.held.abort(id);
        chain.signal(&mut Signal::Aborted(id))?;
        if self.phase == Phase::Parked(id) {
            self.phase = self.parked_in;
        }
        Ok(())
    }

    /// The snapshot of this checkpoint will not be complete; of what is under way for it only that is written which later ones
    /// build on.
    pub(crate) fn lose(&mut self, id: CheckpointId, chain: &mut impl Control) -> Result<(), Error> {
        let Some(mut pending) = self.pending.take_if(|pending| pending.barrier.id == id) else {
            return Ok(());
        };
        let mut left = pending.drained;
        if !left {
            chain.signal(&mut Signal::Abandon(&mut left))?;
        }
        if left {
            pending.aborted();
            self.pending = Some(pending);
            self.hand_in();
        }
        Ok(())
    }

    /// Tells the coordinator that this subtask does not contribute.
    pub(crate) fn decline(&self, id: CheckpointId, reason: CheckpointFailure) {
        self.reporter.report(Report::Declined(id, reason));
    }

    /// The chain is to be told of the time at this moment at the latest.
    pub(crate) fn tick_by(&mut self, due: Option<Moment>) {
        self.tick_due = self.tick_due.into_iter().chain(due).min();
    }

    /// Lets time-driven work of the chain happen, and sends partial segments that have waited long enough under a
    /// trickle of input. Returns when it must be called again.
    pub(crate) fn tick(&mut self, now: Moment, chain: &mut impl Control) -> Result<Option<Moment>, Error> {
        if self.tick_due.is_some_and(|due| due <= now) {
            let mut due = None;
            chain.signal(&mut Signal::Tick(now, &mut due))?;
            self.tick_due = due;
        }
        if now.saturating_sub(self.flushed) >= self.settings.buffer_timeout {
            chain.flush();
            self.flushed = now;
        }
        Ok(self.tick_due)
    }

    /// Nothing is to be done before the disk has taken something, or this moment.
    pub(crate) fn wait(&mut self, now: Moment, due: Option<Moment>, chain: &mut impl Control) -> Progress {
        if self.flush(now, chain) { Progress::Worked } else { Progress::Idle(due) }
    }

    /// Nothing to do: hand partial segments over. Were there any?
    pub(crate) fn flush(&mut self, now: Moment, chain: &mut impl Control) -> bool {
        self.flushed = now;
        chain.flush()
    }
}
