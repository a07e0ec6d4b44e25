//! When a loop has come to its end: markers that go round it. Pure.
//!
//! A loop is all tasks from which one can get back to where one was; its heads are those that something is fed back to. A
//! head whose input from outside has ended sends a marker when it has nothing to do. Any other task sends one on when all
//! of its channels from inside have brought theirs, and those from outside have ended. So the markers of one round go
//! behind everything that was in the loop when their heads sent them, and push it on to a head.
//!
//! A head's round is over when all of its channels from inside have brought its marker; it was quiet when no record came
//! meanwhile. **Where the same round was quiet at all heads, the loop is empty, for ever**: of all that the heads emit
//! behind their markers something would be first. It comes from a record that has reached a head behind its marker and is
//! itself from before the markers, so ahead of them in its channels: that head was not quiet. And nothing from before the
//! markers is left, since it would have reached a head, either behind its marker, or before and then have been emitted anew
//! before it.
//!
//! A marker says of how many rounds its sender knows that they were quiet: none if its last one was not, else one
//! more than the least that it was told in it. What is known spreads by one head a round, so that a count above the number
//! of heads is of a round that was quiet at all of them. No clock is asked, and nothing is counted that could be restored
//! wrongly: after a failure the rounds begin anew.
//!
//! What an operator keeps to itself and feeds back later, at the end of its input or by a timer, is not in the loop: whoever
//! does that is told ([`exchange`](crate::exchange)).

use std::collections::VecDeque;

/// A marker that goes round a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The loop, by its number in the job.
    pub of: u32,
    /// Rounds in a row that are known to have been quiet.
    pub quiet: u32,
}

/// What follows from what has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// The marker goes on.
    On(Round),
    /// The loop is empty: to this head its channels from inside have ended.
    Over,
}

#[derive(Clone, Debug)]
struct Channel {
    inside: bool,
    open: bool,
    /// What its markers say that wait for those of other channels. Heads differ by as many rounds as there are heads at most.
    markers: VecDeque<u32>,
}

/// The rounds of one loop as a subtask sees them.
#[derive(Clone, Debug)]
pub struct Rounds {
    of: u32,
    heads: u32,
    /// Whether something is fed back to it.
    head: bool,
    channels: Vec<Channel>,
    /// A head's marker is under way.
    begun: bool,
    /// A record has come since.
    disturbed: bool,
    quiet: u32,
    over: bool,
}

impl Rounds {
    /// Of loop `of`, which has so many heads, for a subtask of it; which of its channels come from inside.
    pub fn new(of: u32, heads: u32, head: bool, inside: impl IntoIterator<Item = bool>) -> Self {
        let channel = |inside| Channel { inside, open: true, markers: VecDeque::new() };
        let channels = inside.into_iter().map(channel).collect();
        Self { of, heads, head, channels, begun: false, disturbed: false, quiet: 0, over: false }
    }

    /// Whether something from outside may still come, or has ended before.
    pub fn outside(&self) -> Outside {
        let outside = || self.channels.iter().filter(|channel| !channel.inside);
        match outside().any(|channel| channel.open) {
            true => Outside::Open,
            false if outside().next().is_none() => Outside::Nowhere,
            false => Outside::Ended,
        }
    }

    /// The channels from inside that have not ended.
    pub fn inside(&self) -> Vec<usize> {
        let open = |(_, channel): &(usize, &Channel)| channel.inside && channel.open;
        self.channels.iter().enumerate().filter(open).map(|(at, _)| at).collect()
    }

    /// A record has come.
    pub fn record(&mut self) {
        self.disturbed = true;
    }

    /// A channel has ended.
    pub fn end(&mut self, channel: usize) {
        self.channels[channel].open = false;
    }

    /// A channel has brought a marker; one of another loop means nothing here.
    pub fn marker(&mut self, channel: usize, round: Round) {
        if round.of == self.of && self.channels[channel].inside {
            self.channels[channel].markers.push_back(round.quiet);
        }
    }

    /// There is nothing to do: a head may send a marker.
    pub fn begin(&mut self) -> Option<Round> {
        if !self.head
            || self.begun
            || self.over
            || self.outside() == Outside::Open
            || self.inside().is_empty()
        {
            return None;
        }
        (self.begun, self.disturbed) = (true, false);
        Some(Round { of: self.of, quiet: self.quiet })
    }

    /// The next thing that follows from what has come.
    pub fn turn(&mut self) -> Option<Turned> {
        let inside = |channel: &&mut Channel| channel.inside && channel.open;
        let waits = |channel: &Channel| match channel.inside {
            true => channel.open && channel.markers.is_empty(),
            false => channel.open && !self.head,
        };
        if self.head && !self.begun || self.over || self.channels.iter().any(waits) {
            return None;
        }
        let told = self.channels.iter_mut().filter(inside).filter_map(|channel| channel.markers.pop_front());
        let quiet = told.min()?;
        if !self.head {
            return Some(Turned::On(Round { of: self.of, quiet }));
        }
        self.begun = false;
        self.quiet = if self.disturbed { 0 } else { quiet.saturating_add(1) };
        self.over = self.quiet > self.heads;
        if self.over { Some(Turned::Over) } else { None }
    }
}

/// How it stands with the input of a subtask from outside of its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It has none.
    Nowhere,
    /// Something may still come.
    Open,
    /// All of it has ended.
    Ended,
}
