//! What barriers mean for a subtask: alignment, measured, and the snapshot.

use super::InputTask;
use crate::alignment::{Alignment, InFlight};
use crate::checkpoint::{AckMetrics, CheckpointFailure};
use crate::config::CheckpointMode;
use crate::error::Error;
use crate::exchange::NoRoom;
use crate::task::Intake;
use millstream_io::Record;
use millstream_io::clock::Moment;

/// What is measured of an alignment under way.
pub(super) struct Aligning {
    /// When its first barrier arrived.
    begun: Moment,
    /// The most bytes that stood aside since.
    pub(super) held: usize,
    /// Bytes that had been written into files then.
    spilled: u64,
    /// Bytes of the segments that were taken since.
    pub(super) processed: u64,
}

impl<T: Record, I: Intake<T>> InputTask<T, I> {
    /// Does what the aligner says, in its order.
    pub(super) fn align(&mut self, alignment: Alignment) -> Result<(), Error> {
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
            // What is fed back is overtaken by every barrier.
            let is_fed_back = |at: &usize| self.looping.as_ref().is_some_and(|l| l.feeds_back(*at));
            metrics.unaligned = !alignment.overtaken.iter().all(is_fed_back);
            self.collecting = None;
            let overtakes = !alignment.overtaken.is_empty();
            self.overtaking = overtakes.then(|| {
                let after_tasks_finish = self.core.settings.after_tasks_finish;
                InFlight::new(barrier.id, self.gate.len(), &alignment.overtaken, after_tasks_finish)
            });
            self.core.arrive(barrier, metrics, overtakes);
            self.pass()?;
        }
        match self.aligner.next_trigger() {
            Some(next) => self.align(next),
            None => Ok(()),
        }
    }

    /// Lets barriers pass that have come: until then nothing else is taken, so what one has overtaken is still that.
    pub(super) fn pass(&mut self) -> Result<(), Error> {
        while let Some(id) = self.core.pass(&mut self.intake)? {
            if let Some(state) = self.overtaking.take_if(|overtaking| overtaking.id() == id) {
                self.overtake(state)?;
            }
        }
        Ok(())
    }

    /// No more can stand aside: no channel is held any longer, so everything goes on in its order.
    #[cold]
    pub(super) fn give_up(&mut self, no_room: NoRoom) -> Result<(), Error> {
        let alignment = self.aligner.give_up(self.no_room(no_room));
        self.align(alignment)
    }

    pub(super) fn no_room(&self, no_room: NoRoom) -> CheckpointFailure {
        let subtask = self.core.reporter.subtask;
        match no_room {
            NoRoom::Limit { held, limit } => CheckpointFailure::AlignmentLimit { held, limit },
            NoRoom::Failed(error) => CheckpointFailure::Spill { subtask, cause: error.to_string() },
        }
    }
}
