//! What a subtask does that is part of a loop: markers on their way round, room for what comes back, the loop's end.

use super::InputTask;
use crate::alignment::{Outside, Round, Rounds, Turned};
use crate::error::Error;
use crate::exchange::{NoRoom, PER_VISIT};
use crate::operator::Signal;
use crate::task::build::Channel;
use crate::task::core::Phase;
use crate::task::{BuildContext, Intake, Report};
use millstream_io::Record;
use millstream_io::error::Class;

/// The loop as this subtask sees it.
pub(super) struct Looping {
    pub(super) rounds: Rounds,
    /// Channels that something is fed back on.
    feedback: Vec<usize>,
    /// The coordinator knows that no barrier comes from outside any more.
    told: bool,
}

impl Looping {
    /// Nothing for a subtask that is part of no loop.
    pub(super) fn new(cx: &BuildContext<'_>, channels: &[Channel]) -> Option<Self> {
        let looped = cx.looped?;
        let feedback: Vec<usize> = (0..channels.len()).filter(|at| channels[*at].feedback).collect();
        let inside = channels.iter().map(|channel| channel.inside);
        let rounds = Rounds::new(looped.index, looped.heads, !feedback.is_empty(), inside);
        Some(Self { rounds, feedback, told: false })
    }

    fn is_head(&self) -> bool {
        !self.feedback.is_empty()
    }

    pub(super) fn feeds_back(&self, channel: usize) -> bool {
        self.feedback.contains(&channel)
    }
}

impl<T: Record, I: Intake<T>> InputTask<T, I> {
    /// A marker has come on a channel.
    pub(super) fn round(&mut self, channel: usize, round: Round) -> Result<(), Error> {
        if let Some(looping) = &mut self.looping {
            looping.rounds.marker(channel, round);
        }
        self.turn()
    }

    /// Does what follows from what has come round.
    fn turn(&mut self) -> Result<(), Error> {
        while let Some(turned) = self.looping.as_mut().and_then(|looping| looping.rounds.turn()) {
            match turned {
                Turned::On(round) => self.intake.signal(&mut Signal::Round(round))?,
                Turned::Over => {
                    let inside =
                        self.looping.as_ref().map_or_else(Vec::new, |looping| looping.rounds.inside());
                    for channel in inside {
                        self.end(channel)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A channel has ended: what is in a loop may go on for long, and whoever is outside be gone.
    pub(super) fn loop_sees_end(&mut self, channel: usize) -> Result<(), Error> {
        let Some(looping) = &mut self.looping else { return Ok(()) };
        looping.rounds.end(channel);
        let alone = looping.is_head() && looping.rounds.outside() == Outside::Ended;
        if alone && self.core.phase == Phase::Running && !std::mem::replace(&mut looping.told, true) {
            self.core.reporter.report(Report::InputEnded);
        }
        self.turn()
    }

    /// There is nothing to do: sends a marker round, if it is this subtask's turn. Has it?
    pub(super) fn begin_round(&mut self) -> Result<bool, Error> {
        let Some(looping) = self.looping.as_mut().filter(|_| self.core.phase == Phase::Running) else {
            return Ok(false);
        };
        let Some(round) = looping.rounds.begin() else { return Ok(false) };
        self.intake.signal(&mut Signal::Round(round))?;
        Ok(true)
    }

    /// Whether so much is in the loop that nothing is to be taken in: what goes round gets room by leaving alone.
    pub(super) fn is_crowded(&self) -> bool {
        let aside = |channel: &&usize| self.gate.has_aside(**channel) && !self.aligner.is_held(**channel);
        self.looping.as_ref().is_some_and(|looping| looping.feedback.iter().any(|channel| aside(&channel)))
    }

    /// This subtask waits for room below, and perhaps the whole loop for it: what comes back stands aside. Did any?
    pub(super) fn make_way(&mut self) -> Result<bool, Error> {
        let mut any = false;
        for at in 0.. {
            let feedback = self.looping.as_ref().and_then(|looping| looping.feedback.get(at).copied());
            let Some(channel) = feedback else { break };
            // Those that a checkpoint waits for have been looked at.
            if self.collecting.as_ref().is_some_and(|collecting| collecting.state().is_waiting(channel)) {
                continue;
            }
            for _ in 0..PER_VISIT {
                match self.gate.look_ahead(channel) {
                    Ok(None) => break,
                    Ok(Some(_)) => {}
                    Err(no_room) => self.overflow(no_room)?,
                }
                any = true;
            }
        }
        Ok(any)
    }

    /// No more can stand aside. An alignment is given up for it; without one it is the loop that has too much.
    #[cold]
    fn overflow(&mut self, no_room: NoRoom) -> Result<(), Error> {
        if self.aligner.aligning().is_some() {
            return self.give_up(no_room);
        }
        let (cause, hint) = match no_room {
            NoRoom::Limit { held, limit } => (
                format!("{held} bytes are fed back that have no room, more than {limit} allowed"),
                "let fewer records go round, or raise execution.checkpointing.alignment.max-spill",
            ),
            NoRoom::Failed(error) => (
                format!("what is fed back found no room: {error}"),
                "make room there, name another directory with task.local-dir, or hold more in memory: \
                 execution.checkpointing.alignment.memory",
            ),
        };
        Err(Error::new(Class::Restart, "loop", format!("operator {}", self.head), cause).with_hint(hint))
    }
}
