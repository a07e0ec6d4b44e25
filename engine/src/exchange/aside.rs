//! What is held back while a barrier is aligned: in memory as far as a budget goes, and in files beyond that (D6).

use super::Event;
use millstream_io::Record;
use millstream_io::ring::Item;
use millstream_io::scratch::Scratch;
use millstream_io::segment::{Segment, Spilled};
use millstream_io::spill::{Spill, SpillError};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

/// Records of a channel, wherever they lie.
pub(crate) enum Batch<T: Record> {
    Memory(Segment<T>),
    File(Spilled<T>),
}

impl<T: Record> Deref for Batch<T> {
    type Target = Segment<T>;

    #[inline(always)]
    fn deref(&self) -> &Segment<T> {
        match self {
            Self::Memory(segment) => segment,
            Self::File(spilled) => spilled,
        }
    }
}

/// What a channel has to offer.
pub(crate) enum Next<T: Record> {
    Batch(Batch<T>),
    Event(Event),
}

impl<T: Record> From<Item<T, Event>> for Next<T> {
    #[inline(always)]
    fn from(item: Item<T, Event>) -> Self {
        match item {
            Item::Segment(segment) => Self::Batch(Batch::Memory(segment)),
            Item::Event(event) => Self::Event(event),
        }
    }
}

/// A segment found no room. It stands aside all the same, in memory: nothing is lost, but nothing more may follow.
#[derive(Debug)]
pub(crate) enum NoRoom {
    /// More stands aside than is allowed.
    Limit {
        /// Bytes that stand aside.
        held: u64,
        /// Bytes that may.
        limit: u64,
    },
    /// The files could not be made larger.
    Failed(SpillError),
}

/// The queues of all channels of a subtask.
pub(crate) struct Aside<T: Record> {
    queues: Vec<VecDeque<Next<T>>>,
    /// Bytes of buffers in memory, and how many may be.
    memory: usize,
    most: usize,
    /// Bytes of segments in files.
    in_files: usize,
    /// Bytes that were ever written into files.
    written: u64,
    spill: Spill,
    most_in_files: usize,
}

impl<T: Record> Aside<T> {
    /// Empty queues for so many channels, for so many bytes in memory, and in files from `scratch`.
    pub(crate) fn new(channels: usize, memory: usize, files: usize, scratch: Arc<dyn Scratch>) -> Self {
        Self {
            queues: (0..channels).map(|_| VecDeque::new()).collect(),
            memory: 0,
            most: memory,
            in_files: 0,
            written: 0,
            spill: Spill::new(scratch, files),
            most_in_files: files,
        }
    }

    /// Bytes that stand aside: buffers in memory, however little is in them, and what is in files.
    pub(super) fn bytes(&self) -> usize {
        self.memory + self.in_files
    }

    /// Bytes that were written into files since the beginning.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Puts an item behind what a channel has aside. Returns the segment whose rows are in a file now.
    pub(super) fn put(&mut self, channel: usize, item: Item<T, Event>) -> Result<Option<Segment<T>>, NoRoom> {
        let segment = match item {
            Item::Segment(segment) if self.memory + segment.capacity() > self.most => segment,
            other => {
                self.keep(channel, other);
                return Ok(None);
            }
        };
        match self.spill.put(&segment) {
            Ok(spilled) => {
                self.in_files += spilled.size();
                self.written += spilled.size() as u64;
                self.queues[channel].push_back(Next::Batch(Batch::File(spilled)));
                Ok(Some(segment))
            }
            Err(error) => {
                let no_room = self.no_room(&segment, error);
                self.keep(channel, Item::Segment(segment));
                Err(no_room)
            }
        }
    }

    fn keep(&mut self, channel: usize, item: Item<T, Event>) {
        if let Item::Segment(segment) = &item {
            self.memory += segment.capacity();
        }
        self.queues[channel].push_back(item.into());
    }

    #[cold]
    fn no_room(&self, segment: &Segment<T>, error: SpillError) -> NoRoom {
        match error {
            // Room in files that is not used counts as well: it is only used again as a whole.
            SpillError::Limit { wanted, .. } => NoRoom::Limit {
                held: (self.memory + segment.capacity()) as u64 + wanted - segment.packed() as u64,
                limit: self.most.saturating_add(self.most_in_files) as u64,
            },
            error => NoRoom::Failed(error),
        }
    }

    /// Takes away the event that a channel has had aside last.
    pub(super) fn forget(&mut self, channel: usize) {
        let last = self.queues[channel].pop_back_if(|last| matches!(last, Next::Event(_)));
        debug_assert!(last.is_some(), "records are not forgotten");
    }

    /// What a channel has aside, the oldest first.
    pub(super) fn of(&self, channel: usize) -> impl Iterator<Item = &Next<T>> {
        self.queues[channel].iter()
    }

    /// The oldest of what a channel has aside.
    #[inline]
    pub(super) fn take(&mut self, channel: usize) -> Option<Next<T>> {
        let next = self.queues[channel].pop_front()?;
        match &next {
            Next::Batch(Batch::Memory(segment)) => self.memory -= segment.capacity(),
            Next::Batch(Batch::File(spilled)) => {
                self.in_files -= spilled.size();
                if self.in_files == 0 {
                    self.spill.shrink();
                }
            }
            Next::Event(_) => {}
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Event;
    use millstream_io::id::CheckpointId;
    use millstream_io::scratch::MemoryScratch;
    use millstream_io::segment::Writer;

    /// 1 KiB with 128 numbers from `first` on.
    fn segment(first: u64) -> Item<u64, Event> {
        let mut writer = Writer::closed();
        writer.open(Segment::new(1024));
        (first..first + 128).for_each(|n| assert!(writer.push(0, n)));
        Item::Segment(writer.close().unwrap())
    }

    fn show(next: Option<Next<u64>>) -> String {
        match next {
            None => "nothing".to_owned(),
            Some(Next::Event(Event::Cancel(id))) => format!("cancel {id}"),
            Some(Next::Event(event)) => panic!("{event:?}"),
            Some(Next::Batch(batch)) => {
                let place = if matches!(batch, Batch::Memory(_)) { "memory" } else { "file" };
                format!("{place} {}", batch.row(0).view())
            }
        }
    }

    /// Two of three segments fit into the memory. When one has left there is room for one again, and order within a
    /// channel does not depend on where something lies.
    #[test]
    fn memory_comes_first_then_files_and_order_is_kept() {
        let mut aside = Aside::new(2, 2048, 1 << 20, Arc::new(MemoryScratch::new()));
        let mut returned = Vec::new();
        for first in [0, 1000, 2000] {
            returned.push(aside.put(0, segment(first)).unwrap().is_some());
        }
        assert_eq!(returned, [false, false, true], "the buffer of what is in a file goes back to its sender");
        assert!(aside.put(0, Item::Event(Event::Cancel(CheckpointId(7)))).unwrap().is_none());
        assert!(aside.put(1, segment(3000)).unwrap().is_some());
        assert_eq!((aside.bytes(), aside.written()), (4096, 2048));
        assert_eq!(show(aside.take(0)), "memory 0");
        assert!(aside.put(0, segment(4000)).unwrap().is_none(), "there is memory again");
        let rest: Vec<String> = (0..5).map(|_| show(aside.take(0))).collect();
        assert_eq!(rest, ["memory 1000", "file 2000", "cancel 7", "memory 4000", "nothing"]);
        assert_eq!(show(aside.take(1)), "file 3000");
        assert_eq!((aside.bytes(), aside.written()), (0, 2048));
    }

    /// 2 KiB in memory, 3 in files, and one more that stays in memory although it is too much.
    #[test]
    fn what_finds_no_room_is_not_lost() {
        let mut aside = Aside::new(1, 2048, 3 << 10, Arc::new(MemoryScratch::new()));
        (0..5).for_each(|n| drop(aside.put(0, segment(n)).unwrap()));
        let Err(NoRoom::Limit { held, limit }) = aside.put(0, segment(5)) else { panic!("it is full") };
        assert_eq!((held, limit), (6 << 10, 5 << 10));
        assert_eq!(aside.bytes(), 6 << 10);
        let all: Vec<String> = (0..6).map(|_| show(aside.take(0))).collect();
        assert_eq!(all, ["memory 0", "memory 1", "file 2", "file 3", "file 4", "memory 5"]);
    }

    #[test]
    fn a_full_disk_is_told_and_loses_nothing() {
        let scratch = Arc::new(MemoryScratch::new());
        scratch.full_at(0);
        let mut aside = Aside::new(1, 0, 1 << 20, scratch);
        let Err(NoRoom::Failed(error)) = aside.put(0, segment(1)) else { panic!("the disk is full") };
        assert!(error.to_string().starts_with("allocate scratch/0: "), "{error}");
        assert_eq!((aside.bytes(), aside.written()), (1024, 0));
        assert_eq!(show(aside.take(0)), "memory 1");
    }
}
