//! The input side of a subtask: its channels, visited in turn, and what is held back while a barrier is aligned.

use super::Event;
use super::aside::{Aside, Batch, Next, NoRoom};
use millstream_io::Record;
use millstream_io::ring::Rx;
use millstream_io::segment::Segment;

/// Items taken off a held channel in one visit at most, so that a visit stays short.
const HELD_PER_VISIT: usize = 8;

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
}

impl<T: Record> Gate<T> {
    /// A gate for these channels, with a queue for each of them.
    pub(crate) fn new(rings: Vec<Rx<T, Event>>, aside: Aside<T>) -> Self {
        let channels = rings.into_iter().map(|rx| Channel { rx, spare: None }).collect();
        Self { channels, next: 0, aside }
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

    /// The next item of a channel that is not held.
    #[inline]
    pub(crate) fn poll(&mut self, held: impl Fn(usize) -> bool) -> Input<T> {
        let n = self.channels.len();
        let mut moved = false;
        for _ in 0..n {
            let at = self.next;
            self.next = if at + 1 == n { 0 } else { at + 1 };
            if held(at) {
                match self.set_aside(at) {
                    Ok(some) => moved |= some,
                    Err(no_room) => return Input::Full(no_room),
                }
            } else if let Some(next) = self.take(at) {
                return match next {
                    Next::Batch(batch) => Input::Batch(at, batch),
                    Next::Event(event) => Input::Event(at, event),
                };
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
        for _ in 0..HELD_PER_VISIT {
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
        if let Batch::Memory(segment) = batch {
            self.channels[at].spare = Some(segment);
        }
    }
}
