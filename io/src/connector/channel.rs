//! A source that the embedding program feeds.

use crate::emit::Emit;
use crate::error::ConnectorError;
use crate::record::Record;
use crate::source::{Poll, Source, SourceContext};
use crate::waker::Waker;
use crossbeam_channel as crossbeam;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

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

/// The record could not be sent: nobody will ever read it. It is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The record could not be sent at once. It is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel holds as many records as it may.
    Full(T),
    /// Nobody will ever read it: the job is gone.
    Closed(T),
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("send to a channel source: the job is gone")
    }
}

impl<T> std::error::Error for SendError<T> {}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "send to a channel source: the channel is full",
            Self::Closed(_) => "send to a channel source: the job is gone",
        })
    }
}

impl<T> std::error::Error for TrySendError<T> {}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::testing::{Collected, Scene};
    use crate::waker::Parker;

    fn opened(source: &ChannelSource<u64>, subtask: usize) -> ChannelSource<u64> {
        let mut source = source.clone();
        source.open(Scene::new(2).context(subtask), vec![]).unwrap();
        source
    }

    #[test]
    fn records_come_in_order_and_the_input_ends_when_all_senders_are_gone() {
        let (sender, source) = channel(8);
        let second = sender.clone();
        let (mut reader, mut other) = (opened(&source, 0), opened(&source, 1));
        let mut out = Collected::default();
        assert_eq!(other.poll(&mut out).unwrap(), Poll::Done);
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
        sender.send(1).unwrap();
        second.send(2).unwrap();
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
        drop(sender);
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
        second.send(3).unwrap();
        drop(second);
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Done);
        assert_eq!(out.records, [1, 2, 3]);
    }

    #[test]
    fn a_full_channel_gives_the_record_back_and_so_does_one_that_nobody_reads() {
        let (sender, source) = channel(1);
        sender.try_send(1).unwrap();
        assert!(sender.try_send(2) == Err(TrySendError::Full(2)));
        drop(source);
        assert!(sender.try_send(3) == Err(TrySendError::Closed(3)));
        assert!(sender.send(4) == Err(SendError(4)));
    }

    #[test]
    fn an_idle_reader_is_rung_for_by_the_next_record_and_by_the_last_sender() {
        let (sender, source) = channel(8);
        let mut reader = opened(&source, 0);
        let mut out = Collected::default();
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
        assert!(reader.bell.waiting.load(Ordering::Relaxed));
        sender.send(1).unwrap();
        assert!(!reader.bell.waiting.load(Ordering::Relaxed));
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
        drop(sender);
        assert!(!reader.bell.waiting.load(Ordering::Relaxed));
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Done);
    }

    #[test]
    fn what_waits_in_the_channel_survives_a_restart() {
        let (sender, source) = channel(8);
        let reader = opened(&source, 0);
        sender.send(1).unwrap();
        drop(reader);
        let mut out = Collected::default();
        assert_eq!(opened(&source, 0).poll(&mut out).unwrap(), Poll::More);
        assert_eq!(out.records, [1]);
    }

    #[test]
    fn a_batch_ends_when_what_is_below_is_full() {
        #[derive(Default)]
        struct Full(Collected<u64>);
        impl Emit<u64> for Full {
            fn emit(&mut self, record: u64) {
                self.0.emit(record);
            }
            fn is_full(&self) -> bool {
                true
            }
        }
        let (sender, source) = channel(8);
        let mut reader = opened(&source, 0);
        (0..3).for_each(|i| sender.send(i).unwrap());
        let mut out = Full::default();
        for n in 1..=3 {
            assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
            assert_eq!(out.0.records.len(), n);
        }
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
    }

    /// As a driver runs a subtask: poll twice without a find before waiting.
    fn run_to_the_end(mut reader: ChannelSource<u64>, mut parker: Parker) -> Vec<u64> {
        let mut out = Collected::default();
        loop {
            match reader.poll(&mut out).unwrap() {
                Poll::Done => return out.records,
                Poll::More => continue,
                Poll::Idle(_) => parker.prepare(),
            }
            match reader.poll(&mut out).unwrap() {
                Poll::Done => return out.records,
                Poll::More => parker.cancel(),
                Poll::Idle(_) => parker.park(None),
            }
        }
    }

    #[test]
    fn no_record_and_no_end_is_slept_through() {
        for round in 0..200 {
            let (sender, source) = channel(1 + round % 3);
            let parker = Parker::default();
            let mut reader = source.clone();
            let cx = SourceContext { waker: parker.waker(), ..Scene::new(1).context(0) };
            reader.open(cx, vec![]).unwrap();
            std::thread::scope(|scope| {
                let reading = scope.spawn(|| run_to_the_end(reader, parker));
                for i in 0..100 {
                    sender.send(i).unwrap();
                    if i % 7 == 0 {
                        std::thread::yield_now();
                    }
                }
                drop(sender);
                assert_eq!(reading.join().unwrap(), (0..100).collect::<Vec<_>>());
            });
        }
    }
}
