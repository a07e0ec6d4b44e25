//! Edges: all the rings between two tasks.

use super::TaskIndex;
use crate::exchange::Event;
use millstream_io::Record;
use millstream_io::ring::{Rx, Tx, ring};
use millstream_io::waker::Waker;
use std::any::Any;

/// Which subtasks of two tasks are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Each with each; a record goes to one.
    All,
    /// Each with each; a record goes to all.
    Broadcast,
    /// Each with its like. Both tasks have the same parallelism.
    Forward,
    /// Each with each, back to the head of a loop; a record goes to one.
    Feedback,
}

impl Link {
    /// Whether a barrier may overtake records (UC-07). Of a forked stream nobody knows at another parallelism where they
    /// belong, and what all are to have may already have changed the state of one of them.
    pub(crate) fn may_be_overtaken(self) -> bool {
        matches!(self, Self::All | Self::Feedback)
    }
}

/// The ends of an edge's rings, by subtask; typed again by who takes them.
pub(crate) struct Rings {
    pub outputs: Vec<Box<dyn Any + Send>>,
    pub inputs: Vec<Box<dyn Any + Send>>,
}

/// All rings between two tasks.
pub(crate) struct Edge {
    pub from: Option<TaskIndex>,
    pub to: Option<TaskIndex>,
    pub link: Link,
    rings: fn(Link, usize, &[Waker], &[Waker]) -> Rings,
}

impl Edge {
    /// An edge for records of type `T`.
    pub(crate) fn new<T: Record>(link: Link) -> Self {
        Self { from: None, to: None, link, rings: rings::<T> }
    }

    /// Makes the rings, each of so many slots; the wakers are those of the subtasks at either end.
    pub(crate) fn rings(&self, slots: usize, from: &[Waker], to: &[Waker]) -> Rings {
        (self.rings)(self.link, slots, from, to)
    }
}

fn rings<T: Record>(link: Link, slots: usize, from: &[Waker], to: &[Waker]) -> Rings {
    let mut outputs: Vec<Vec<Tx<T, Event>>> = from.iter().map(|_| Vec::new()).collect();
    let mut inputs: Vec<Vec<Rx<T, Event>>> = to.iter().map(|_| Vec::new()).collect();
    for (up, producer) in from.iter().enumerate() {
        for (down, consumer) in to.iter().enumerate() {
            if link == Link::Forward && up != down {
                continue;
            }
            let (tx, rx) = ring(slots, producer.clone(), consumer.clone());
            outputs[up].push(tx);
            inputs[down].push(rx);
        }
    }
    Rings {
        outputs: outputs.into_iter().map(|ends| Box::new(ends) as Box<dyn Any + Send>).collect(),
        inputs: inputs.into_iter().map(|ends| Box::new(ends) as Box<dyn Any + Send>).collect(),
    }
}
