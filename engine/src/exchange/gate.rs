//! The input side of a subtask: its channels, visited in turn, and what is held back while a barrier is aligned.

use super::Event;
use super::aside::{Aside, Batch, Next, NoRoom};
use millstream_io::Record;
use millstream_io::ring::Rx;
use millstream_io::segment::Segment;
use std::collections::VecDeque;

/// Items taken off a channel ahead of their turn in one visit at most, so that a visit stays short.
pub(crate) const PER_VISIT: usize = 8;

/// In place of a channel: what was in flight when the snapshot was taken that the subtask goes on from.
pub(crate) const RESTORED: usize = usize::MAX;

/// How a channel is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Its next item is taken.
    Open,
    /// Its items are taken that stand aside; others are first [looked at](Gate::look_ahead).
    Ahead,
    /// All items stand aside.
    Held,
    /// Nothing is taken.
    Shut,
}

/// What a gate has to offer.
pub(crate) enum Input<T: Record> {
    /// Records of a channel.
    Batch(usize, Batch<T>),
    /// An event of a channel.
    Event(usize, Event),
    /// Nothing to process, but held channels were emptied.
    Held,
    /// What a held channel brought found no room; it stands aside all the same.
    Full(NoRoom),
    /// Nothing.
    Nothing,
}

struct Channel<T: Record> {
    rx: Rx<T, Event>,
    /// An emptied segment, on its way back to the producer.
    spare: Option<Segment<T>>,
}

/// The channels of a subtask.
///
/// A held channel is still emptied, into its queue, so that its sender is never stopped by an alignment. Order in a
/// channel is kept: what stands aside is older than anything in the ring, and goes first.
pub(crate) struct Gate<T: Record> {
    channels: Vec<Channel<T>>,
    next: usize,
    aside: Aside<T>,
    /// Goes before everything that comes.
    restored: VecDeque<Segment<T>>,
}

impl<T: Record> Gate<T> {
    /// A gate for these channels, with a queue for each of them.
    pub(crate) fn new(rings: Vec<Rx<T, Event>>, aside: Aside<T>) -> Self {
        let channels = rings.into_iter().map(|rx| Channel { rx, spare: None }).collect();
        Self { channels, next: 0, aside, restored: VecDeque::new() }
    }

    /// Number of channels.
    pub(crate) fn len(&self) -> usize {
        self.channels.len()
    }

    /// Bytes that stand aside at the moment.
    pub(crate) fn aside_bytes(&self) -> usize {
        self.aside.bytes()
    }

    /// Bytes that were written into files since the beginning.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.aside.written()
    }

    /// What was in flight comes before everything else (UC-04).
    pub(crate) fn restore(&mut self, segments: Vec<Segment<T>>) {
        self.restored.extend(segments);
    }

    /// What was in flight and has not been taken yet.
    pub(crate) fn restored(&self) -> impl Iterator<Item = &Segment<T>> {
        self.restored.iter()
    }

    /// What a channel has aside, the oldest first.
    pub(crate) fn aside(&self, at: usize) -> impl Iterator<Item = &Next<T>> {
        self.aside.of(at)
    }

    /// Whether a channel has anything aside.
    pub(crate) fn has_aside(&self, at: usize) -> bool {
        self.aside.of(at).next().is_some()
    }

    /// Takes the next item of a channel and puts it aside, whether there is room for it or not. Shows it.
    pub(crate) fn look_ahead(&mut self, at: usize) -> Result<Option<&Next<T>>, NoRoom> {
        let channel = &mut self.channels[at];
        let Some(item) = channel.rx.pop(&mut channel.spare) else { return Ok(None) };
        if let Some(emptied) = self.aside.put(at, item)? {
            channel.spare = Some(emptied);
        }
        Ok(self.aside.of(at).last())
    }

    /// Takes back the event that was put aside last.
    pub(crate) fn forget(&mut self, at: usize) {
        self.aside.forget(at);
    }

    /// The next item of a channel that is not held.
    #[inline]
    pub(crate) fn poll(&mut self, way: impl Fn(usize) -> Way) -> Input<T> {
        if let Some(segment) = self.restored.pop_front() {
            return Input::Batch(RESTORED, Batch::Memory(segment));
        }
        let n = self.channels.len();
        let mut moved = false;
        for _ in 0..n {
            let at = self.next;
            self.next = if at + 1 == n { 0 } else { at + 1 };
            let next = match way(at) {
                Way::Open => self.take(at),
                Way::Ahead => self.aside.take(at),
                Way::Shut => None,
                Way::Held => match self.set_aside(at) {
                    Ok(some) => {
                        moved |= some;
                        None
                    }
                    Err(no_room) => return Input::Full(no_room),
                },
            };
            match next {
                Some(Next::Batch(batch)) => return Input::Batch(at, batch),
                Some(Next::Event(event)) => return Input::Event(at, event),
                None => {}
            }
        }
        if moved { Input::Held } else { Input::Nothing }
    }

    #[inline]
    fn take(&mut self, at: usize) -> Option<Next<T>> {
        let channel = &mut self.channels[at];
        match self.aside.take(at) {
            None => channel.rx.pop(&mut channel.spare).map(Next::from),
            aside => aside,
        }
    }

    fn set_aside(&mut self, at: usize) -> Result<bool, NoRoom> {
        let channel = &mut self.channels[at];
        let mut moved = false;
        for _ in 0..PER_VISIT {
            let Some(item) = channel.rx.pop(&mut channel.spare) else { break };
            if let Some(emptied) = self.aside.put(at, item)? {
                channel.spare = Some(emptied);
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Gives the emptied segment of a batch back to the channel's producer.
    #[inline]
    pub(crate) fn recycle(&mut self, at: usize, batch: Batch<T>) {
        if let (Batch::Memory(segment), Some(channel)) = (batch, self.channels.get_mut(at)) {
            channel.spare = Some(segment);
        }
    }
}
