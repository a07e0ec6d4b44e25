//! How much of a subtask's snapshots may be in memory between its state and the disk.

use millstream_io::waker::Waker;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Chunks that may be on their way to the disk.
pub(crate) const CHUNKS: usize = 64;

/// Buffers that are kept to be filled again.
const SPARE: usize = 8;

/// What a subtask has handed over and is not written yet, and the buffers that come back.
///
/// **The bound.** A step encodes no more of a frozen state than there is room for, so at most [`CHUNKS`] chunks (16 MiB of
/// 256 KiB each) are on their way, and what one step goes beyond that: less than a chunk and one segment of pages. Beside
/// these the backend keeps a copy of each line that was changed while its turn to be encoded was yet to come: of these, and
/// of what they become when it comes, no more than [`DrainPace`](super::drain_pace) allows before records have to wait.
/// So does a barrier that comes before the state of the one before it has been encoded (ruling 13).
pub(crate) struct Flow {
    limit: usize,
    /// Bytes of a buffer that is worth keeping, at most.
    buffer: usize,
    on_the_way: AtomicUsize,
    /// The owner found no room and waits to be woken.
    short: AtomicBool,
    spare: Mutex<Vec<Vec<u8>>>,
    owner: Waker,
}

impl Flow {
    /// Nothing is on its way. `chunk` is how many bytes are handed over at once.
    pub(crate) fn new(chunk: usize, owner: Waker) -> Self {
        Self {
            limit: chunk.max(1).saturating_mul(CHUNKS),
            buffer: chunk.max(32 << 10).saturating_mul(2) + (8 << 10),
            on_the_way: AtomicUsize::new(0),
            short: AtomicBool::new(false),
            spare: Mutex::default(),
            owner,
        }
    }

    /// Bytes that may be handed over. Whoever finds that there is no room is woken once there is.
    pub(super) fn room(&self) -> usize {
        let room = || self.limit.saturating_sub(self.on_the_way.load(Ordering::SeqCst));
        match room() {
            0 => {
                // Either this look or the one behind the writing of a chunk sees what the other has done.
                self.short.store(true, Ordering::SeqCst);
                room()
            }
            some => some,
        }
    }

    /// Bytes that are on their way beyond those that there is room for: what was copied before its turn is handed over when
    /// that comes, however much it is.
    pub(super) fn beyond(&self) -> usize {
        self.on_the_way.load(Ordering::SeqCst).saturating_sub(self.limit)
    }

    /// So many bytes are on their way now.
    pub(super) fn add(&self, bytes: usize) {
        self.on_the_way.fetch_add(bytes, Ordering::SeqCst);
    }

    /// What was in this buffer is written, or nobody's any more.
    pub(super) fn arrived(&self, buffer: Vec<u8>) {
        let bytes = buffer.len();
        {
            let mut spare = self.spare.lock();
            if spare.len() < SPARE && buffer.capacity() <= self.buffer {
                spare.push(buffer);
            }
        }
        self.on_the_way.fetch_sub(bytes, Ordering::SeqCst);
        if self.short.swap(false, Ordering::SeqCst) {
            self.owner.wake();
        }
    }

    /// A buffer to be filled again, if there is one.
    pub(crate) fn buffer(&self) -> Option<Vec<u8>> {
        self.spare.lock().pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_chunks_and_again_when_one_has_arrived() {
        let flow = Flow::new(10, Waker::nobody());
        assert_eq!(flow.room(), 640);
        flow.add(600);
        assert_eq!(flow.room(), 40);
        flow.add(50);
        assert_eq!((flow.room(), flow.beyond(), flow.buffer()), (0, 10, None));
        assert!(flow.short.load(Ordering::SeqCst));
        flow.arrived(vec![7; 30]);
        assert_eq!((flow.room(), flow.beyond(), flow.buffer()), (20, 0, Some(vec![7; 30])));
        assert!(!flow.short.load(Ordering::SeqCst), "woken once");
    }
}
