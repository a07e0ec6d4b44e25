//! A subtask whose head is a source.

use super::batch::Batch;
use super::core::{Beside, Phase};
use super::pace::Pace;
use super::{Core, Message, Progress, Report, Restored, Subtask};
use crate::error::Error;
use crate::operator::{Control, Signal, SnapshotParts, Stage};
use millstream_io::clock::Moment;
use millstream_io::counters::Counters;
use millstream_io::source::{Poll, Source, SourceContext};
use millstream_state::OperatorId;
use std::sync::Arc;

/// The name of a source's list state.
pub(crate) const SOURCE_STATE: &str = "splits";

/// Runs a source and the chain below it.
pub(crate) struct SourceTask<S: Source, P> {
    core: Core,
    restored: Option<Restored>,
    context: Option<SourceContext>,
    head: Head<S, P>,
    pace: Pace,
    /// What was last said of a backlog.
    behind: bool,
}

/// The source and the chain: what answers to signals.
struct Head<S: Source, P> {
    id: OperatorId,
    source: S,
    counters: Arc<Counters>,
    below: P,
}

impl<S: Source, P: Stage<S::Out>> SourceTask<S, P> {
    pub(crate) fn new(
        core: Core,
        restored: Restored,
        context: SourceContext,
        id: OperatorId,
        source: S,
        below: P,
    ) -> Self {
        let counters = context.counters.clone();
        let head = Head { id, source, counters, below };
        Self {
            core,
            restored: Some(restored),
            context: Some(context),
            head,
            pace: Pace::new(),
            behind: false,
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        if let (Some(mut restored), Some(context)) = (self.restored.take(), self.context.take()) {
            let splits = restored.list::<S::Split>(self.head.id)?;
            self.head.signal(&mut Signal::Open(&mut restored))?;
            self.core.restored(&mut restored)?;
            if restored.finished {
                self.head.signal(&mut Signal::AlreadyEnded)?;
                self.core.already_ended();
                return Ok(());
            }
            self.head.source.open(context, splits)?;
        }
        self.core.opened();
        Ok(())
    }

    fn messages(&mut self) -> Result<bool, Error> {
        let mut any = false;
        while let Some(message) = self.core.message() {
            any = true;
            // After a last barrier nothing may follow it, not even the next barrier.
            if matches!((&message, self.core.phase), (Message::Trigger(_), Phase::Parked(_) | Phase::Closed))
            {
                continue;
            }
            self.core.handle(message, &mut self.head)?;
        }
        Ok(any)
    }

    fn poll(&mut self, now: Moment) -> Result<Progress, Error> {
        let head = &mut self.head;
        let mut out = Batch::new(&mut head.below, self.core.watch(), now, &mut self.pace);
        let polled = head.source.poll(&mut out);
        let emitted = out.emitted();
        head.counters.records_in.add(emitted);
        self.core.fault.check()?;
        let polled = polled?;
        self.tell_backlog(polled);
        match polled {
            Poll::More => Ok(Progress::Worked),
            Poll::Done => {
                self.head.signal(&mut Signal::End)?;
                self.core.fault.check()?;
                self.core.phase = Phase::Ended;
                self.core.reporter.report(Report::EndOfData);
                Ok(Progress::Worked)
            }
            Poll::Idle(due) if emitted == 0 => self.idle(due),
            Poll::Idle(_) => Ok(Progress::Worked),
        }
    }

    /// Says so when a backlog begins or ends; input that has ended leaves none.
    fn tell_backlog(&mut self, polled: Poll) {
        let behind = polled != Poll::Done && self.head.source.is_behind();
        if std::mem::replace(&mut self.behind, behind) != behind {
            self.core.reporter.report(Report::Backlog(behind));
        }
    }

    fn idle(&mut self, due: Option<millstream_io::clock::Moment>) -> Result<Progress, Error> {
        let now = self.core.clock.now();
        let drained = self.core.drain_much(&mut self.head)?;
        let flushed = self.core.flush(now, &mut self.head);
        let tick = self.core.tick(now, &mut self.head)?;
        if drained || flushed {
            return Ok(Progress::Worked);
        }
        Ok(Progress::Idle(match (due, tick) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }))
    }
}

impl<S: Source, P: Stage<S::Out>> Subtask for SourceTask<S, P> {
    fn step(&mut self) -> Result<Progress, Error> {
        let begun = self.core.step_begins();
        let progress = self.advance()?;
        self.core.spend(progress, begun);
        Ok(progress)
    }
}

impl<S: Source, P: Stage<S::Out>> SourceTask<S, P> {
    fn advance(&mut self) -> Result<Progress, Error> {
        match self.core.phase {
            Phase::Opening => {
                self.open()?;
                return Ok(Progress::Worked);
            }
            Phase::Closed => {
                return Ok(if self.head.ready() { Progress::Finished } else { Progress::Blocked(None) });
            }
            _ => {}
        }
        let messages = self.messages()?;
        if self.core.is_holding() {
            let now = self.core.clock.now();
            while self.core.pass(&mut self.head)?.is_some() {}
            if self.core.is_holding() {
                let progress = self.core.wait(now, None, &mut self.head);
                return Ok(if messages { Progress::Worked } else { progress });
            }
        }
        if !self.head.ready() {
            let drained = self.core.drain_much(&mut self.head)?;
            return Ok(if messages || drained { Progress::Worked } else { Progress::Blocked(None) });
        }
        if self.core.phase == Phase::Running {
            let now = self.core.clock.now();
            let beside = self.core.drain_some(now, &mut self.head)?;
            let due = self.core.tick(now, &mut self.head)?;
            return match beside {
                Beside::Records => self.poll(now),
                Beside::Encoding => Ok(Progress::Worked),
                Beside::Waiting if messages => Ok(Progress::Worked),
                Beside::Waiting => Ok(self.core.wait(now, due, &mut self.head)),
            };
        }
        if messages { Ok(Progress::Worked) } else { self.idle(None) }
    }
}

impl<S: Source, P: Stage<S::Out>> Control for Head<S, P> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        self.below.signal(signal)?;
        match signal {
            Signal::Barrier(_, parts) => self.snapshot(parts)?,
            Signal::Complete(permit) => self.source.completed(permit.checkpoint()),
            _ => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> bool {
        self.below.flush()
    }

    fn ready(&mut self) -> bool {
        self.below.ready()
    }
}

impl<S: Source, P> Head<S, P> {
    fn snapshot(&mut self, parts: &mut SnapshotParts) -> Result<(), Error> {
        let splits = self.source.snapshot()?;
        parts.list::<S::Split>(self.id, &splits);
        Ok(())
    }
}
