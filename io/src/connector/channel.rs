//! A source that the embedding program feeds.

mod error;
#[cfg(test)]
mod tests;

use crate::emit::Emit;
use crate::error::ConnectorError;
use crate::record::Record;
use crate::source::{Poll, Source, SourceContext};
use crate::waker::Waker;
use crossbeam_channel as crossbeam;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

pub use error::{SendError, TrySendError};

/// Records in one batch.
const BATCH: usize = 1024;

/// A bounded channel into a job: what the [`Sender`]s are given, the [`ChannelSource`] emits.
///
/// Order is kept, so one subtask reads, the first; the others end at once. **Not replayable (SR-10)**: a record
/// that was taken out of the channel and had not become part of a completed checkpoint is lost when the attempt fails,
/// so this source delivers each record *at most once* across a failure. What still waits in the channel survives a
/// restart inside the process. Dropping all senders ends the input.
///
/// `capacity` is in records; a sender waits, or is told, when so many are waiting.
///
/// ```
/// use millstream_io::connector::{channel, TrySendError};
///
/// let (sender, source) = channel::<u64>(1);
/// sender.try_send(1).unwrap();
/// assert!(matches!(sender.try_send(2), Err(TrySendError::Full(2))));
/// # drop(source);
/// ```
///
/// # Panics
/// When `capacity` is zero.
pub fn channel<T: Record>(capacity: usize) -> (Sender<T>, ChannelSource<T>) {
    assert!(capacity > 0, "a channel source needs room for at least one record");
    let (tx, rx) = crossbeam::bounded(capacity);
    let bell = Arc::new(Bell::default());
    (Sender { tx: Some(tx), bell: Arc::clone(&bell) }, ChannelSource { rx, bell, reading: false })
}

/// How senders rouse the subtask that found nothing.
#[derive(Default)]
struct Bell {
    /// The reader found the channel empty and has not been rung for since.
    waiting: AtomicBool,
    /// The present attempt's waker.
    waker: Mutex<Option<Waker>>,
}

impl Bell {
    fn ring(&self) {
        // Pairs with the fence in `poll`: either the reader sees what was sent, or this sees that it waits.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed)
            && self.waiting.swap(false, Ordering::AcqRel)
            && let Some(waker) = &*self.waker.lock()
        {
            waker.wake();
        }
    }
}

/// Feeds a [`ChannelSource`]; may be cloned and used from any thread.
pub struct Sender<T> {
    /// Always there until the drop, which must disconnect before it rings.
    tx: Option<crossbeam::Sender<T>>,
    bell: Arc<Bell>,
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.tx = None;
        self.bell.ring();
    }
}

impl<T> Sender<T> {
    /// Sends a record, waiting while the channel is full.
    ///
    /// # Errors
    /// [`SendError`] with the record when no source is left to read it.
    pub fn send(&self, record: T) -> Result<(), SendError<T>> {
        let Some(tx) = &self.tx else { return Err(SendError(record)) };
        tx.send(record).map_err(|error| SendError(error.0))?;
        self.bell.ring();
        Ok(())
    }

    /// Sends a record if there is room now.
    ///
    /// # Errors
    /// [`TrySendError`] with the record.
    pub fn try_send(&self, record: T) -> Result<(), TrySendError<T>> {
        let Some(tx) = &self.tx else { return Err(TrySendError::Closed(record)) };
        tx.try_send(record).map_err(|error| match error {
            crossbeam::TrySendError::Full(record) => TrySendError::Full(record),
            crossbeam::TrySendError::Disconnected(record) => TrySendError::Closed(record),
        })?;
        self.bell.ring();
        Ok(())
    }
}

/// The reading end of a [`channel`].
pub struct ChannelSource<T> {
    rx: crossbeam::Receiver<T>,
    bell: Arc<Bell>,
    reading: bool,
}

impl<T> Clone for ChannelSource<T> {
    fn clone(&self) -> Self {
        Self { rx: self.rx.clone(), bell: Arc::clone(&self.bell), reading: false }
    }
}

impl<T: Record> ChannelSource<T> {
    /// Emits what waits, up to a batch.
    fn take(&mut self, out: &mut impl Emit<T>) -> Result<Poll, crossbeam::TryRecvError> {
        for n in 0..BATCH {
            match self.rx.try_recv() {
                Ok(record) => {
                    out.emit(record.view());
                    if out.is_full() {
                        break;
                    }
                }
                Err(_) if n > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Poll::More)
    }
}

impl<T: Record> Source for ChannelSource<T> {
    type Out = T;
    /// There is no position to go back to.
    type Split = ();

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<()>, ConnectorError> {
        Ok(Vec::new())
    }

    fn open(&mut self, cx: SourceContext, _: Vec<()>) -> Result<(), ConnectorError> {
        self.reading = cx.subtask == 0;
        if self.reading {
            *self.bell.waker.lock() = Some(cx.waker);
        }
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<T>) -> Result<Poll, ConnectorError> {
        if !self.reading {
            return Ok(Poll::Done);
        }
        if let Ok(poll) = self.take(out) {
            return Ok(poll);
        }
        self.bell.waiting.store(true, Ordering::Relaxed);
        // Pairs with the fence in `ring`; what was sent before it is found by the second look.
        fence(Ordering::SeqCst);
        Ok(match self.take(out) {
            Ok(poll) => poll,
            Err(crossbeam::TryRecvError::Empty) => Poll::Idle(None),
            Err(crossbeam::TryRecvError::Disconnected) => Poll::Done,
        })
    }

    fn snapshot(&mut self) -> Result<Vec<()>, ConnectorError> {
        Ok(Vec::new())
    }
}
