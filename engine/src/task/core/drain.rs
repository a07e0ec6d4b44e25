//! Encoding frozen state beside everything else, no faster than the disk takes it.

use super::{Core, Pending};
use crate::error::Error;
use crate::operator::{Control, Drained, Draining, Signal};
use millstream_io::clock::Moment;

/// Whether there is time for records beside a snapshot under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// There is.
    Records,
    /// More of the snapshot has to be encoded first: ask again.
    Encoding,
    /// That waits for the disk, and is woken when it has taken something.
    Waiting,
}

impl Core {
    /// Whether a snapshot is under way of which some state is yet to be encoded: until then nothing may change what is
    /// emitted at the end.
    pub(crate) fn is_draining(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| !pending.drained)
    }

    /// Drains what is frozen as far as there is room for it. Is it over?
    pub(super) fn end_drain(&mut self, chain: &mut impl Control) -> Result<bool, Error> {
        while self.is_draining() {
            let most = self.pace.most();
            if self.pending.as_ref().is_some_and(Pending::is_unwanted) {
                // What is left of it is in memory already.
                self.drain(most, chain)?;
            } else if !self.drain_within(most, chain)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Encodes some frozen state, and hands over what is finished.
    pub(super) fn drain(&mut self, budget: usize, chain: &mut impl Control) -> Result<(), Error> {
        let Some(pending) = self.pending.as_mut().filter(|pending| !pending.drained) else { return Ok(()) };
        let mut draining = Draining::new(budget, self.writer.flow.clone());
        chain.signal(&mut Signal::Drain(&mut draining))?;
        let Drained { complete, passed, kept, chunks } = draining.over();
        self.drained = passed;
        pending.hand_over(chunks);
        self.kept = kept + self.writer.flow.beyond();
        if complete {
            chain.signal(&mut Signal::Collect(&mut pending.parts))?;
            pending.drained = true;
            self.hand_in();
        }
        Ok(())
    }

    /// The same, of so many bytes or what there is room for. Did it do anything?
    fn drain_within(&mut self, budget: usize, chain: &mut impl Control) -> Result<bool, Error> {
        if !self.is_draining() {
            return Ok(false);
        }
        let room = self.writer.flow.room();
        // Without room, too: how much is kept is known only then.
        self.drain(budget.min(room), chain)?;
        Ok(room > 0)
    }

    /// Drains beside work, and says whether there is to be any.
    pub(crate) fn drain_some(&mut self, now: Moment, chain: &mut impl Control) -> Result<Beside, Error> {
        if !self.is_draining() {
            return Ok(Beside::Records);
        }
        let budget = self.pace.bytes(now, self.drained, self.kept);
        let drained = self.drain_within(budget, chain)?;
        Ok(match drained {
            _ if !self.is_draining() || !self.pace.holds(self.kept) => Beside::Records,
            true => Beside::Encoding,
            false => Beside::Waiting,
        })
    }

    /// Drains while there is nothing else to do. Did it do anything?
    pub(crate) fn drain_much(&mut self, chain: &mut impl Control) -> Result<bool, Error> {
        self.drain_within(self.pace.most(), chain)
    }
}
