//! A subtask whose head is a gate: takes segments of all its channels, aligns barriers, and feeds what stands behind.

mod barriers;
mod looping;
mod overtaking;

use super::core::{Beside, Phase};
use super::in_flight::{self, Collecting};
use super::pace::Pace;
use super::{
    BuildContext, Core, EdgeIndex, Intake, Message, OperatorIndex, Progress, Report, Restored, Subtask,
};
use crate::alignment::{Aligner, InFlight};
use crate::error::Error;
use crate::exchange::{Batch, Event, Gate, Input, Way};
use crate::operator::Signal;
use barriers::Aligning;
use looping::Looping;
use millstream_io::Record;
use millstream_io::clock::Moment;
use millstream_state::OperatorId;

/// Of what is left at the end of the input there may be much between two keys, so its pace says little.
const LOOK: usize = 16;

/// Runs a gate and the chain below it.
pub(crate) struct InputTask<T: Record, I> {
    core: Core,
    restored: Option<Restored>,
    gate: Gate<T>,
    aligner: Aligner,
    aligning: Option<Aligning>,
    /// What the barrier of the newest snapshot has overtaken, while it is not complete.
    collecting: Option<Collecting>,
    /// What a barrier that waits for a drain has overtaken.
    overtaking: Option<InFlight>,
    /// The operator behind the gate: what is in flight is part of its state.
    head: OperatorId,
    /// What is half read: its channel, and the next row.
    open: Option<(usize, Batch<T>, usize)>,
    ended: Vec<bool>,
    looping: Option<Looping>,
    /// The channel that ended last.
    last: usize,
    pace: Pace,
    intake: I,
}

impl<T: Record, I: Intake<T>> InputTask<T, I> {
    /// The channels of these edges, before the operator `head`.
    pub(crate) fn new(
        cx: &mut BuildContext<'_>,
        inputs: &[EdgeIndex],
        head: OperatorIndex,
        intake: I,
    ) -> Self {
        let (gate, channels) = cx.gate::<T>(inputs);
        let mut aligner = Aligner::new(gate.len(), cx.settings.mode, cx.settings.after_tasks_finish);
        for (at, channel) in channels.iter().enumerate() {
            if !channel.overtaken {
                aligner.never_overtaken(at);
            }
            if channel.feedback {
                aligner.feeds_back(at);
            }
        }
        Self {
            core: cx.core(),
            restored: Some(cx.restored()),
            aligner,
            aligning: None,
            collecting: None,
            overtaking: None,
            head: cx.operator_id(head),
            open: None,
            ended: vec![false; gate.len()],
            looping: Looping::new(cx, &channels),
            last: 0,
            pace: Pace::new(),
            gate,
            intake,
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        if let Some(mut restored) = self.restored.take() {
            self.intake.signal(&mut Signal::Open(&mut restored))?;
            self.core.restored(&mut restored)?;
            let size = self.core.settings.segment_size;
            self.gate.restore(in_flight::restore(&restored, self.head, size, &mut self.intake)?);
            if restored.finished {
                self.intake.signal(&mut Signal::AlreadyEnded)?;
                self.core.already_ended();
                return Ok(());
            }
        }
        self.core.opened();
        Ok(())
    }

    fn messages(&mut self) -> Result<bool, Error> {
        let mut any = false;
        while let Some(message) = self.core.message() {
            any = true;
            match message {
                // The barriers of channels that have not ended need not be waited for.
                Message::Trigger(barrier) => {
                    let alignment = self.aligner.trigger(barrier);
                    self.align(alignment)?;
                }
                Message::Aborted(id) => {
                    self.collecting.take_if(|collecting| collecting.state().id() == id);
                    self.overtaking.take_if(|overtaking| overtaking.id() == id);
                    let alignment = self.aligner.abort(id);
                    self.align(alignment)?;
                    self.core.handle(message, &mut self.intake)?;
                    self.came_round(id)?;
                }
                _ => self.core.handle(message, &mut self.intake)?,
            }
        }
        Ok(any)
    }

    fn event(&mut self, channel: usize, event: Event) -> Result<(), Error> {
        let alignment = match event {
            Event::Barrier(barrier) => self.aligner.barrier(channel, barrier),
            Event::Cancel(id) => self.aligner.cancel(channel, id),
            Event::Round(round) => return self.round(channel, round),
            Event::End => return self.end(channel),
            Event::Close => return Ok(()),
        };
        self.align(alignment)
    }

    /// No record follows on a channel. To the head of a loop that may have been clear before the channel says so.
    fn end(&mut self, channel: usize) -> Result<(), Error> {
        if std::mem::replace(&mut self.ended[channel], true) {
            return Ok(());
        }
        // Ended already when it was restored?
        if self.core.phase != Phase::Ended && self.ended.iter().all(|ended| *ended) {
            // What is left must be emitted before this end can stand for a barrier.
            self.core.phase = Phase::Finishing;
            self.last = channel;
            self.aligner.never_overtaken(channel);
            // What is called now may take longer than what was called for each record.
            self.pace = Pace::at_most(LOOK);
        } else {
            let alignment = self.aligner.end(channel);
            self.align(alignment)?;
        }
        self.loop_sees_end(channel)
    }

    /// CP-31 steps 1 to 3: emit what is left, pass the end on, say so. A step does some of it, as of rows (ruling 11).
    fn finish(&mut self) -> Result<(), Error> {
        self.pace.begin(self.core.clock.now());
        loop {
            let rows = self.pace.portion();
            let done = self.intake.finish(rows);
            self.core.fault.check()?;
            if done {
                break;
            }
            if self.pace.passed(rows, self.core.watch()) || !self.intake.ready() {
                return Ok(());
            }
        }
        self.intake.signal(&mut Signal::End)?;
        self.core.fault.check()?;
        self.core.phase = Phase::Ended;
        let alignment = self.aligner.end(self.last);
        self.align(alignment)?;
        self.core.reporter.report(Report::EndOfData);
        Ok(())
    }

    /// Takes rows of the open segment until it is read, a millisecond has passed, or there is overdraft (ruling 11).
    fn rows(&mut self, now: Moment) -> Result<(), Error> {
        let Some((channel, batch, mut at)) = self.open.take() else { return Ok(()) };
        let rows = batch.rows();
        self.pace.begin(now);
        while at < rows {
            let end = rows.min(at + self.pace.portion());
            let taken = self.intake.take(&batch, at..end);
            self.core.fault.check()?;
            let over = self.pace.passed(taken, self.core.watch());
            at += taken;
            if at < rows && (over || !self.intake.ready()) {
                self.open = Some((channel, batch, at));
                return Ok(());
            }
        }
        self.gate.recycle(channel, batch);
        Ok(())
    }

    /// Takes the next item of any channel.
    fn next(&mut self, now: Moment) -> Result<Progress, Error> {
        if self.open.is_some() {
            self.rows(now)?;
            return Ok(Progress::Worked);
        }
        let crowded = self.is_crowded();
        let (aligner, collecting, looping) = (&self.aligner, &self.collecting, &self.looping);
        let input = self.gate.poll(|channel| match collecting {
            _ if aligner.is_held(channel) => Way::Held,
            _ if crowded && looping.as_ref().is_some_and(|l| !l.feeds_back(channel)) => Way::Shut,
            Some(collecting) if collecting.state().is_waiting(channel) => Way::Ahead,
            _ => Way::Open,
        });
        if let Some(aligning) = &mut self.aligning {
            // Held channels were emptied, whether others had something or not.
            aligning.held = self.gate.aside_bytes().max(aligning.held);
        }
        match input {
            // Whoever has fed it back says so.
            Input::Batch(channel, batch) if self.core.phase == Phase::Ended => {
                self.gate.recycle(channel, batch);
            }
            Input::Batch(channel, batch) => {
                if let Some(looping) = &mut self.looping {
                    looping.rounds.record();
                }
                if let Some(aligning) = &mut self.aligning {
                    aligning.processed += batch.bytes() as u64;
                }
                self.open = Some((channel, batch, 0));
                self.rows(now)?;
            }
            Input::Event(channel, event) => self.event(channel, event)?,
            Input::Held => {}
            Input::Full(no_room) => self.give_up(no_room)?,
            Input::Nothing => return self.idle(),
        }
        Ok(Progress::Worked)
    }

    fn idle(&mut self) -> Result<Progress, Error> {
        if self.begin_round()? {
            return Ok(Progress::Worked);
        }
        let now = self.core.clock.now();
        let drained = self.core.drain_much(&mut self.intake)?;
        // What time has it emit is flushed as well.
        let due = self.core.tick(now, &mut self.intake)?;
        let flushed = self.core.flush(now, &mut self.intake);
        Ok(if drained || flushed { Progress::Worked } else { Progress::Idle(due) })
    }
}

impl<T: Record, I: Intake<T>> Subtask for InputTask<T, I> {
    fn step(&mut self) -> Result<Progress, Error> {
        let begun = self.core.step_begins();
        let progress = self.advance()?;
        self.core.spend(progress, begun);
        Ok(progress)
    }
}

impl<T: Record, I: Intake<T>> InputTask<T, I> {
    fn advance(&mut self) -> Result<Progress, Error> {
        if self.core.phase == Phase::Opening {
            self.open()?;
            return Ok(Progress::Worked);
        }
        let messages = self.messages()? | self.look_ahead()?;
        // Also when there is always input, or never room: time passes for sinks and for partial segments.
        self.core.tick_by(self.intake.due());
        let now = self.core.clock.now();
        let due = match self.core.phase {
            Phase::Closed => None,
            _ => self.core.tick(now, &mut self.intake)?,
        };
        if self.core.is_holding() {
            self.pass()?;
            if self.core.is_holding() {
                let progress = self.core.wait(now, due, &mut self.intake);
                return Ok(if messages { Progress::Worked } else { progress });
            }
        }
        if !self.intake.ready() {
            let worked = self.core.drain_much(&mut self.intake)? | self.make_way()? | messages;
            return Ok(if worked { Progress::Worked } else { Progress::Blocked(due) });
        }
        match self.core.phase {
            Phase::Closed => Ok(Progress::Finished),
            Phase::Parked(_) if messages => Ok(Progress::Worked),
            Phase::Parked(_) => self.idle(),
            // A snapshot under way has to hold the state as it was at its barrier.
            Phase::Finishing if self.core.is_draining() => {
                let drained = self.core.drain_much(&mut self.intake)?;
                Ok(if messages || drained { Progress::Worked } else { Progress::Idle(due) })
            }
            Phase::Finishing => {
                self.finish()?;
                Ok(Progress::Worked)
            }
            _ => {
                let progress = match self.core.drain_some(now, &mut self.intake)? {
                    Beside::Records => self.next(now)?,
                    Beside::Encoding => Progress::Worked,
                    Beside::Waiting => self.core.wait(now, due, &mut self.intake),
                };
                Ok(if messages { Progress::Worked } else { progress })
            }
        }
    }
}
