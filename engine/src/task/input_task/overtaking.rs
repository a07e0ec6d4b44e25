//! A barrier that has overtaken what is in its way: what its channels bring until their own barriers belongs to the snapshot.

use super::InputTask;
use crate::alignment::{InFlight, Reached};
use crate::error::Error;
use crate::exchange::{Event, Next, PER_VISIT, RESTORED};
use crate::task::Intake;
use crate::task::in_flight::Collecting;
use millstream_io::Record;
use millstream_io::id::CheckpointId;

impl<T: Record, I: Intake<T>> InputTask<T, I> {
    /// The snapshot has been taken: what stands before these channels' barriers belongs to it.
    pub(super) fn overtake(&mut self, state: InFlight) -> Result<(), Error> {
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
    pub(super) fn look_ahead(&mut self) -> Result<bool, Error> {
        let mut any = false;
        for channel in 0..self.gate.len() {
            for _ in 0..PER_VISIT {
                let Some(collecting) = self.collecting.as_mut().filter(|c| c.state().is_waiting(channel))
                else {
                    break;
                };
                let reached = match self.gate.look_ahead(channel) {
                    Ok(None) => break,
                    Ok(Some(item)) => {
                        // A barrier that has been met means nothing in its turn: it has been passed. Where checkpoints
                        // follow one another quickly, nothing else than these would be taken.
                        let over =
                            matches!(item, Next::Event(Event::Barrier(b)) if b.id <= collecting.state().id());
                        let reached = collecting.item(channel, item);
                        if over {
                            self.gate.forget(channel);
                        }
                        reached
                    }
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
                    self.came_round(id)?;
                }
            }
            Reached::Never(why) => {
                if let Some(collecting) = self.collecting.take() {
                    let id = collecting.state().id();
                    self.core.lose(id, &mut self.intake)?;
                    self.core.decline(id, why);
                    self.came_round(id)?;
                }
            }
        }
        Ok(())
    }

    /// Nothing more is awaited for this checkpoint: the next one may be complete.
    pub(super) fn came_round(&mut self, id: CheckpointId) -> Result<(), Error> {
        let alignment = self.aligner.came_round(id);
        self.align(alignment)
    }
}
