//! A subtask whose head is a gate: takes segments of all its channels, aligns barriers, and feeds what stands behind.

use super::core::{Beside, Phase};
use super::in_flight::{self, Collecting};
use super::pace::Pace;
use super::{
    BuildContext, Core, EdgeIndex, Intake, Message, OperatorIndex, Progress, Report, Restored, Subtask,
};
use crate::alignment::{Aligner, Alignment, InFlight, Reached};
use crate::checkpoint::{AckMetrics, CheckpointFailure};
use crate::config::CheckpointMode;
use crate::error::Error;
use crate::exchange::{Batch, Event, Gate, Input, NoRoom, PER_VISIT, RESTORED, Way};
use crate::operator::Signal;
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
    /// The channel that ended last.
    last: usize,
    pace: Pace,
    intake: I,
}

/// What is measured of an alignment under way.
struct Aligning {
    /// When its first barrier arrived.
    begun: Moment,
    /// The most bytes that stood aside since.
    held: usize,
    /// Bytes that had been written into files then.
    spilled: u64,
    /// Bytes of the segments that were taken since.
    processed: u64,
}

impl<T: Record, I: Intake<T>> InputTask<T, I> {
    /// The channels of these edges, before the operator `head`.
    pub(crate) fn new(
        cx: &mut BuildContext<'_>,
        inputs: &[EdgeIndex],
        head: OperatorIndex,
        intake: I,
    ) -> Self {
        let (gate, overtaken) = cx.gate::<T>(inputs);
        let mut aligner = Aligner::new(gate.len(), cx.settings.mode, cx.settings.after_tasks_finish);
        for (channel, _) in overtaken.iter().enumerate().filter(|(_, overtaken)| !**overtaken) {
            aligner.never_overtaken(channel);
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
                }
                _ => self.core.handle(message, &mut self.intake)?,
            }
        }
        Ok(any)
    }

    /// Does what the aligner says, in its order.
    fn align(&mut self, alignment: Alignment) -> Result<(), Error> {
        for aborted in alignment.aborted {
            self.aligning = None;
            self.core.counters().barrier.given_up();
            self.core.cancel(aborted.id, &mut self.intake)?;
            if let Some(reason) = aborted.decline {
                self.core.decline(aborted.id, reason);
            }
        }
        if alignment.begun.is_some() {
            let begun = self.core.clock.now();
            self.core.counters().barrier.begun(begun);
            let spilled = self.gate.spilled_bytes();
            self.aligning = Some(Aligning { begun, held: 0, spilled, processed: 0 });
        }
        if let Some(barrier) = alignment.complete {
            let mut metrics = AckMetrics::default();
            if let Some(Aligning { begun, held, spilled, processed }) = self.aligning.take() {
                metrics.start_delay = begun.saturating_sub(barrier.timestamp);
                // At least once nobody waits (CP-22).
                if self.core.settings.mode == CheckpointMode::ExactlyOnce {
                    metrics.alignment = self.core.clock.now().saturating_sub(begun);
                }
                metrics.held_bytes = held as u64;
                metrics.spilled_bytes = self.gate.spilled_bytes() - spilled;
                metrics.processed_bytes = processed;
            }
            metrics.unaligned = !alignment.overtaken.is_empty();
            self.collecting = None;
            self.overtaking = metrics.unaligned.then(|| {
                let after_tasks_finish = self.core.settings.after_tasks_finish;
                InFlight::new(barrier.id, self.gate.len(), &alignment.overtaken, after_tasks_finish)
            });
            self.core.arrive(barrier, metrics);
            self.pass()?;
        }
        Ok(())
    }

    /// Lets barriers pass that have come: until then nothing else is taken, so what one has overtaken is still that.
    fn pass(&mut self) -> Result<(), Error> {
        while let Some(id) = self.core.pass(&mut self.intake)? {
            if let Some(state) = self.overtaking.take_if(|overtaking| overtaking.id() == id) {
                self.overtake(state)?;
            }
        }
        Ok(())
    }

    /// The snapshot has been taken: what stands before these channels' barriers belongs to it.
    fn overtake(&mut self, state: InFlight) -> Result<(), Error> {
        let mut collecting = Collecting::new(state);
        if let Some((channel, batch, at)) = &self.open
            && (*channel == RESTORED || collecting.state().is_waiting(*channel))
        {
            collecting.rows(batch, *at..batch.rows());
        }
        for segment in self.gate.restored() {
            collecting.rows(segment, 0..segment.rows());
        }
        let mut reached = Reached::Nothing;
        for channel in 0..self.gate.len() {
            for item in self.gate.aside(channel) {
                if !collecting.state().is_waiting(channel) || matches!(reached, Reached::Never(_)) {
                    break;
                }
                reached = collecting.item(channel, item);
            }
        }
        self.collecting = Some(collecting);
        self.reached(reached)
    }

    /// Looks at what channels bring ahead of its turn, as long as their barriers have not come. Also when there is no room
    /// for what processing it would emit: nobody waits for that. Did it find anything?
    fn look_ahead(&mut self) -> Result<bool, Error> {
        let mut any = false;
        for channel in 0..self.gate.len() {
            for _ in 0..PER_VISIT {
                let Some(collecting) = self.collecting.as_mut().filter(|c| c.state().is_waiting(channel))
                else {
                    break;
                };
                let reached = match self.gate.look_ahead(channel) {
                    Ok(None) => break,
                    Ok(Some(item)) => collecting.item(channel, item),
                    Err(no_room) => Reached::Never(self.no_room(no_room)),
                };
                any = true;
                self.reached(reached)?;
            }
        }
        Ok(any)
    }

    fn reached(&mut self, reached: Reached) -> Result<(), Error> {
        match reached {
            Reached::Nothing | Reached::Barrier => {}
            Reached::All => {
                if let Some(collecting) = self.collecting.take() {
                    let id = collecting.state().id();
                    let (records, bytes) = collecting.into_records();
                    self.core.in_flight(id, self.head, records, bytes);
                }
            }
            Reached::Never(why) => {
                if let Some(collecting) = self.collecting.take() {
                    let id = collecting.state().id();
                    self.core.lose(id, &mut self.intake)?;
                    self.core.decline(id, why);
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, channel: usize, event: Event) -> Result<(), Error> {
        let alignment = match event {
            Event::Barrier(barrier) => self.aligner.barrier(channel, barrier),
            Event::Cancel(id) => self.aligner.cancel(channel, id),
            Event::End => {
                self.ended[channel] = true;
                if self.core.phase == Phase::Ended {
                    // Ended already when it was restored.
                    let alignment = self.aligner.end(channel);
                    return self.align(alignment);
                }
                if self.ended.iter().all(|ended| *ended) {
                    // What is left must be emitted before this end can stand for a barrier.
                    self.core.phase = Phase::Finishing;
                    self.last = channel;
                    self.aligner.never_overtaken(channel);
                    // What is called now may take longer than what was called for each record.
                    self.pace = Pace::at_most(LOOK);
                    return Ok(());
                }
                self.aligner.end(channel)
            }
            Event::Close => return Ok(()),
        };
        self.align(alignment)
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
        let (aligner, collecting) = (&self.aligner, &self.collecting);
        let input = self.gate.poll(|channel| match collecting {
            _ if aligner.is_held(channel) => Way::Held,
            Some(collecting) if collecting.state().is_waiting(channel) => Way::Ahead,
            _ => Way::Open,
        });
        if let Some(aligning) = &mut self.aligning {
            // Held channels were emptied, whether others had something or not.
            aligning.held = self.gate.aside_bytes().max(aligning.held);
        }
        match input {
            Input::Batch(channel, batch) => {
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

    /// No more can stand aside: no channel is held any longer, so everything goes on in its order.
    #[cold]
    fn give_up(&mut self, no_room: NoRoom) -> Result<(), Error> {
        let alignment = self.aligner.give_up(self.no_room(no_room));
        self.align(alignment)
    }

    fn no_room(&self, no_room: NoRoom) -> CheckpointFailure {
        let subtask = self.core.reporter.subtask;
        match no_room {
            NoRoom::Limit { held, limit } => CheckpointFailure::AlignmentLimit { held, limit },
            NoRoom::Failed(error) => CheckpointFailure::Spill { subtask, cause: error.to_string() },
        }
    }

    fn idle(&mut self) -> Result<Progress, Error> {
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
            let drained = self.core.drain_much(&mut self.intake)?;
            return Ok(if messages || drained { Progress::Worked } else { Progress::Blocked(due) });
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
