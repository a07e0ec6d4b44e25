//! A range that grows: how much is prepared, when, and by whom.

use super::mapping::{self, Fresh, Unused, Used};
use super::{Charge, Room, Scratch, ScratchError, Supply};
use crate::prefetch::HUGE_PAGE;
use parking_lot::Mutex;
use rustix::mm::Advice;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The first piece: what is small stays small.
const LEAST: usize = 64 << 10;

/// The largest piece.
const MOST: usize = 64 << 20;

/// A piece has this share of what there is before it.
const SHARE: usize = 8;

/// Keys have no order.
const ORDER: Advice = Advice::Random;

/// Bytes of the piece behind `at`: first small, then whole huge pages, a share of what there is.
fn piece(at: usize) -> usize {
    match at {
        0 => LEAST,
        1..HUGE_PAGE => HUGE_PAGE - at,
        _ => (at / SHARE / HUGE_PAGE * HUGE_PAGE).clamp(HUGE_PAGE, MOST),
    }
}

/// A range of memory that grows at its end and never moves. Fresh memory is zero.
///
/// Memory as far as the budget of its [`Scratch`] goes, and files beyond that. With an executor there is always one piece
/// more than is in use, prepared in the background: its memory found and cleared, or its file made. So at most about a
/// fifth of the range is memory that is not used yet. Whoever needs a piece that is not ready does not wait until it is.
///
/// ```
/// use millstream_io::scratch::{Region, Supply};
///
/// let mut region = Region::new(1 << 30, Supply::default())?;
/// region.reach(1000)?;
/// region[999] = 7;
/// region.reach(10 << 20)?;
/// assert_eq!(region[998..1001], [0, 7, 0]);
/// # Ok::<(), millstream_io::scratch::ScratchError>(())
/// ```
#[derive(Debug)]
pub struct Region {
    used: Used,
    /// With the one who prepares the next piece, while that is so.
    rest: Option<Rest>,
    /// A piece that is to be prepared: by whoever comes first, in the background or when it is needed. Locked while that is
    /// done.
    ahead: Option<Arc<Mutex<Option<Rest>>>>,
    /// Where the last piece begins.
    last: usize,
    supply: Supply,
}

/// A [`Region`] that is handed out in pieces, until they are put together again.
///
/// ```
/// use millstream_io::scratch::{Region, Supply};
///
/// let mut region = Region::new(1 << 30, Supply::default())?;
/// region.reach(1000)?;
/// let mut cutting = region.cut(100);
/// let mut pieces = [cutting.next(5 << 20)?, cutting.next(10)?];
/// std::thread::scope(|scope| {
///     for piece in &mut pieces {
///         scope.spawn(move || piece.fill(7));
///     }
/// });
/// cutting.join(pieces);
/// assert_eq!(region[99..101], [0, 7]);
/// assert_eq!(region[100 + (5 << 20) + 9..][..2], [7, 0]);
/// # Ok::<(), millstream_io::scratch::ScratchError>(())
/// ```
#[derive(Debug)]
#[must_use = "the region has only what is behind the pieces before they are joined"]
pub struct Cutting<'a> {
    /// What is before the first piece.
    front: Used,
    region: &'a mut Region,
}

/// A piece of a [`Region`]: nobody else has it before it is [joined](Cutting::join).
#[derive(Debug)]
pub struct Piece(Used);

impl Cutting<'_> {
    /// The next `len` bytes. Their memory is found when it is touched: nobody prepares it ahead, since those who fill pieces are
    /// several.
    ///
    /// # Errors
    /// There is no more memory, no room for a file, or no address left.
    pub fn next(&mut self, len: usize) -> Result<Piece, ScratchError> {
        while self.region.used.len() < len {
            self.region.add()?;
        }
        Ok(Piece(self.region.used.split_front(len)))
    }

    /// Puts all pieces together again, in whatever order they come.
    ///
    /// # Panics
    /// When one is missing, or is of another region.
    pub fn join(mut self, pieces: impl IntoIterator<Item = Piece>) {
        let mut pieces: Vec<_> = pieces.into_iter().collect();
        pieces.sort_unstable_by_key(Piece::at);
        pieces.into_iter().for_each(|piece| self.front.join(piece.0));
        // Nothing may be left of the region while a piece is missing: no address is another one's.
        let rest = self.region.used.split_front(self.region.used.len());
        self.front.join(rest);
        self.region.used = self.front;
    }
}

impl Piece {
    /// Where it is in its region.
    pub fn at(&self) -> usize {
        self.0.from()
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Piece {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// What is behind the pieces in use, and what all pieces are charged for.
#[derive(Debug)]
struct Rest {
    unused: Unused,
    charges: Vec<Charge>,
}

impl Region {
    /// A range of up to `most` bytes, none of which is in use.
    ///
    /// # Errors
    /// The system does not give as many addresses.
    pub fn new(most: usize, supply: Supply) -> Result<Self, ScratchError> {
        let (used, unused) = mapping::reserve(most).map_err(|source| ScratchError::Memory {
            operation: "reservation",
            bytes: most,
            source,
        })?;
        let rest = Some(Rest { unused, charges: Vec::new() });
        Ok(Self { used, rest, ahead: None, last: 0, supply })
    }

    /// Has at least the first `len` bytes usable.
    ///
    /// # Errors
    /// There is no more memory, no room for a file, or no address left. What was usable stays so, and a later call tries
    /// again.
    pub fn reach(&mut self, len: usize) -> Result<(), ScratchError> {
        while self.used.len() < len {
            self.add()?;
        }
        // Less than a huge page is soon found, and perhaps never used.
        if self.rest.is_some() && len > self.last && self.used.len() >= HUGE_PAGE {
            self.begin();
        }
        Ok(())
    }

    /// Hands out what is behind the first `from` bytes in pieces, which several threads may fill.
    ///
    /// # Panics
    /// When fewer bytes are usable.
    pub fn cut(&mut self, from: usize) -> Cutting<'_> {
        let front = self.used.split_front(from);
        Cutting { front, region: self }
    }

    fn add(&mut self) -> Result<(), ScratchError> {
        let prepared = self.ahead.take().and_then(|ahead| ahead.lock().take());
        let mut rest = self.rest.take().or(prepared).expect("it is here, or with the one who prepares");
        // What was tried in the background and did not succeed is tried once more.
        let added =
            if rest.unused.is_prepared() { Ok(()) } else { rest.add(&*self.supply.scratch).map(|_| ()) };
        self.last = self.used.end();
        self.used.take(&mut rest.unused);
        self.rest = Some(rest);
        added
    }

    /// Has the next piece prepared.
    fn begin(&mut self) {
        let Some(executor) = &self.supply.executor else { return };
        let Some(rest) = self.rest.take_if(|rest| rest.unused.left() > 0) else { return };
        let ahead = Arc::new(Mutex::new(Some(rest)));
        self.ahead = Some(ahead.clone());
        let scratch = self.supply.scratch.clone();
        executor.spawn(Box::new(move || prepare(&ahead, &*scratch)));
    }
}

/// In the background. What fails is told when the piece is needed.
fn prepare(ahead: &Mutex<Option<Rest>>, scratch: &dyn Scratch) {
    let added = ahead.lock().as_mut().map(|rest| rest.add(scratch));
    // Not locked: a state that grows faster than the system finds memory uses what there is.
    if let Some(Ok(Some(fresh))) = added {
        fresh.populate();
    }
}

impl Rest {
    /// Puts the next piece there. Memory can be used at once, and has still to be found.
    fn add(&mut self, scratch: &dyn Scratch) -> Result<Option<Fresh>, ScratchError> {
        let at = self.unused.at();
        let bytes = piece(at).min(self.unused.left());
        if bytes == 0 {
            let source = std::io::ErrorKind::OutOfMemory.into();
            return Err(ScratchError::Memory { operation: "growth beyond all addresses", bytes: at, source });
        }
        if let Some(charge) = scratch.memory(bytes)
            && let Ok(fresh) = self.add_memory(bytes)
        {
            self.charges.push(charge);
            return Ok(Some(fresh));
        }
        // The budget is used up, or the process may not have as much.
        match scratch.file(bytes)? {
            Room::Memory => self.add_memory(bytes).map(Some),
            Room::File(file) => {
                let added = self.unused.add_file(bytes, &file, ORDER).map(|()| None);
                added.map_err(|source| ScratchError::Memory { operation: "mapping of a file", bytes, source })
            }
        }
    }

    fn add_memory(&mut self, bytes: usize) -> Result<Fresh, ScratchError> {
        // A state in less than a huge page is small, and one would make it large.
        let huge = self.unused.at() >= HUGE_PAGE;
        let added = self.unused.add_memory(bytes, huge);
        added.map_err(|source| ScratchError::Memory { operation: "allocation", bytes, source })
    }
}

impl Deref for Region {
    type Target = [u8];

    /// What is usable.
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.used
    }
}

impl DerefMut for Region {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.used
    }
}

#[cfg(test)]
mod tests;
