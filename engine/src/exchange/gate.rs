//! The input side of a subtask: its channels, visited in turn, and what is held back while a barrier is aligned.

use super::Event;
use millstream_io::Record;
use millstream_io::ring::{Item, Rx};
use millstream_io::segment::Segment;
use std::collections::VecDeque;

/// Items taken off a held channel in one visit at most, so that a visit stays short.
const HELD_PER_VISIT: usize = 8;

/// What a gate has to offer.
pub(crate) enum Input<T: Record> {
    /// Records of a channel.
    Segment(usize, Segment<T>),
    /// An event of a channel.
    Event(usize, Event),
    /// Nothing to process, but held channels were emptied.
    Held,
    /// Nothing.
    Nothing,
}

struct Channel<T: Record> {
    rx: Rx<T, Event>,
    /// An emptied segment, on its way back to the producer.
    spare: Option<Segment<T>>,
    /// Taken off the ring while the channel was held; older than anything in the ring.
    aside: VecDeque<Item<T, Event>>,
}

/// The channels of a subtask.
///
/// A held channel is still emptied, into its queue, so that its sender is never stopped by an alignment. Order in a
/// channel is kept: what stands aside goes first.
pub(crate) struct Gate<T: Record> {
    channels: Vec<Channel<T>>,
    next: usize,
    aside_bytes: usize,
}

impl<T: Record> Gate<T> {
    pub(crate) fn new(rings: Vec<Rx<T, Event>>) -> Self {
        let channels =
            rings.into_iter().map(|rx| Channel { rx, spare: None, aside: VecDeque::new() }).collect();
        Self { channels, next: 0, aside_bytes: 0 }
    }

    /// Number of channels.
    pub(crate) fn len(&self) -> usize {
        self.channels.len()
    }

    /// Bytes that stand aside at the moment.
    pub(crate) fn aside_bytes(&self) -> usize {
        self.aside_bytes
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
                moved |= self.set_aside(at);
            } else if let Some(item) = self.take(at) {
                return match item {
                    Item::Segment(segment) => Input::Segment(at, segment),
                    Item::Event(event) => Input::Event(at, event),
                };
            }
        }
        if moved { Input::Held } else { Input::Nothing }
    }

    #[inline]
    fn take(&mut self, at: usize) -> Option<Item<T, Event>> {
        let channel = &mut self.channels[at];
        match channel.aside.pop_front() {
            Some(item) => {
                self.aside_bytes -= bytes(&item);
                Some(item)
            }
            None => channel.rx.pop(&mut channel.spare),
        }
    }

    fn set_aside(&mut self, at: usize) -> bool {
        let channel = &mut self.channels[at];
        let mut moved = false;
        for _ in 0..HELD_PER_VISIT {
            let Some(item) = channel.rx.pop(&mut channel.spare) else { break };
            self.aside_bytes += bytes(&item);
            channel.aside.push_back(item);
            moved = true;
        }
        moved
    }

    /// Gives an emptied segment back to the channel's producer.
    #[inline]
    pub(crate) fn recycle(&mut self, at: usize, segment: Segment<T>) {
        self.channels[at].spare = Some(segment);
    }
}

fn bytes<T: Record>(item: &Item<T, Event>) -> usize {
    match item {
        // What it takes of memory, however little is in it.
        Item::Segment(segment) => segment.capacity(),
        Item::Event(_) => 0,
    }
}
