//! Pages with dirty lines: what changed since the last barrier, and what a snapshot under way still has to copy.
//!
//! Each page has two masks of 64 bits, one bit a line: the lines that are dirty, and those that are frozen. [`Pages::freeze`]
//! swaps the two sets: what was dirty becomes frozen, and the other one, empty, takes over. The owner then
//! copies the frozen lines out in small steps; a line that is about to change before its turn is copied just before. What
//! was copied is a link of a chain whatever becomes of its checkpoint. Where nobody wants the rest any more
//! ([`Pages::abandon`]) the lines that are still frozen become dirty instead, and are in the next snapshot. So
//!
//! 1. outside a drain no line is frozen;
//! 2. a line is dirty before it differs from what it held at the last barrier (except in pages that are given back:
//!    nobody reads these before they are given out again, which makes all their lines dirty);
//! 3. during a drain that was not abandoned, a line that is frozen holds what it held at the barrier; no line is frozen and
//!    dirty.
//!
//! So a line that is dirty already can be changed without a look at anything else, and most lines that change are.
//!
//! All three hold because [`Pages::write`], [`Pages::replace`] and [`Pages::line_mut`] are the only ways to change bytes,
//! but for [`Pages::load`] and [`Pages::cut`], behind which [`Pages::mark_all`] says that everything may have changed.
//! No other thread touches any of it.

use super::changed::Changed;
use super::copied::{Copied, Piece};
use super::image::put_lines;
use super::memory::{LINE, Line, Memory, PAGE, PAGE_LINES, SEGMENT_PAGES};
use millstream_io::prefetch::{prefetch_address, prefetch_index};
use millstream_io::scratch::{Cutting, ScratchError};

/// All pages of a segment, as a mask.
const ALL_PAGES: u16 = ((1u32 << SEGMENT_PAGES) - 1) as u16;

/// Segments whose frozen lines are made dirty again in one step: some tens of microseconds.
const TAKEN_BACK: usize = if cfg!(test) { 3 } else { 512 };

/// The group of the segment that holds nothing: see [`Pages::new`].
const NO_GROUP: u32 = u32::MAX;

/// What becomes of lines that are frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drain {
    /// None is.
    Over,
    /// They are copied.
    All,
    /// Nobody wants them any more: those of the group whose turn it is are copied still, so that a snapshot has all of a
    /// group or nothing.
    Group,
    /// They become dirty again.
    Back,
}

/// What is known of a segment.
#[derive(Debug)]
struct Segment {
    /// The key group that it belongs to, counted within the owner's.
    group: u32,
    /// Its number in that group.
    ordinal: u32,
    /// Pages that no bucket has.
    free: u16,
    /// Pages that never were written, and are zero.
    fresh: u16,
    /// Pages with dirty lines, for each parity.
    dirty: [u16; 2],
}

/// The pages of one table. Pages and lines are numbered through; within a key group they have numbers of their own, which
/// snapshots use.
#[derive(Debug)]
pub(crate) struct Pages {
    memory: Memory,
    /// The dirty lines of each page.
    dirty: Vec<u64>,
    /// The frozen lines of each page.
    frozen: Vec<u64>,
    segments: Vec<Segment>,
    /// The segments of each group.
    groups: Vec<Vec<u32>>,
    /// Those that have, or had, a page that is free.
    open: Vec<Vec<u32>>,
    /// The segments of which a mask of pages is not empty, for each parity.
    changed: [Changed; 2],
    /// Which of a segment's two masks is that of pages with dirty lines; the other one is that of pages with frozen ones.
    parity: usize,
    drain: Drain,
    /// Not all of what was frozen last is in its snapshot.
    #[cfg(test)]
    abandoned: bool,
    /// Where the drain goes on: group and segment of it.
    cursor: (usize, usize),
    /// Segments that the drain has to go through, with those that it has.
    all: usize,
    copied: Copied,
    #[cfg(test)]
    pub shadow: super::shadow::Shadow,
}

impl Pages {
    /// No pages, but for a segment that nothing is ever written to: there an empty bucket leads, so that no lookup has to
    /// ask whether there is one.
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn new(groups: usize, memory: Memory) -> Result<Self, ScratchError> {
        let mut pages = Self {
            memory,
            dirty: Vec::new(),
            frozen: Vec::new(),
            segments: Vec::new(),
            groups: vec![Vec::new(); groups],
            open: vec![Vec::new(); groups],
            changed: [Changed::new(groups), Changed::new(groups)],
            parity: 0,
            drain: Drain::Over,
            #[cfg(test)]
            abandoned: false,
            cursor: (0, 0),
            all: 0,
            copied: Copied::new(groups),
            #[cfg(test)]
            shadow: super::shadow::Shadow::default(),
        };
        pages.add_segment(NO_GROUP, 0)?;
        Ok(pages)
    }

    #[inline(always)]
    pub fn line(&self, line: usize) -> &Line {
        self.memory.line(line)
    }

    #[inline(always)]
    pub fn bytes(&self, at: usize, len: usize) -> &[u8] {
        self.memory.bytes(at, len)
    }

    /// All of a page.
    #[inline(always)]
    pub fn page(&self, page: usize) -> &[u8; PAGE] {
        self.memory.page(page)
    }

    /// Asks the memory for a line.
    #[inline(always)]
    pub fn prefetch(&self, line: usize) {
        prefetch_address(self.memory.address(line));
    }

    /// Asks the memory for a line's dirty bits.
    #[inline(always)]
    pub fn prefetch_mask(&self, line: usize) {
        prefetch_index(&self.dirty, line / PAGE_LINES);
    }

    /// Bytes that may be changed at once, as all their lines are dirty; `None` also where they are in two pages.
    #[inline(always)]
    pub fn dirty_mut(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        let (first, last) = (at / LINE, (at + len.max(1) - 1) / LINE);
        let (page, lines) = (first / PAGE_LINES, last - first);
        if last / PAGE_LINES != page {
            return None;
        }
        let mask = (u64::MAX >> (PAGE_LINES - 1 - lines)) << (first % PAGE_LINES);
        (self.dirty[page] & mask == mask).then(|| self.memory.bytes_mut(at, len))
    }

    /// Writes bytes over as many of one line. One that holds the same already does not become dirty.
    #[inline(always)]
    pub fn replace_in_line(&mut self, at: usize, new: &[u8]) {
        let (line, from) = (at / LINE, at % LINE);
        if !self.is_dirty(line) {
            if self.memory.line(line)[from..][..new.len()] == *new {
                return;
            }
            self.mark_new(line / PAGE_LINES, 1 << (line % PAGE_LINES));
        }
        self.memory.line_mut(line)[from..][..new.len()].copy_from_slice(new);
    }

    /// Whether a line is dirty.
    #[inline(always)]
    fn is_dirty(&self, line: usize) -> bool {
        self.dirty[line / PAGE_LINES] >> (line % PAGE_LINES) & 1 != 0
    }

    /// A line that is about to change.
    #[inline(always)]
    pub fn line_mut(&mut self, line: usize) -> &mut Line {
        self.mark(line / PAGE_LINES, 1 << (line % PAGE_LINES));
        self.memory.line_mut(line)
    }

    /// Bytes that are about to change, all of them; they must be in one segment.
    pub fn write(&mut self, at: usize, len: usize) -> &mut [u8] {
        if len == 0 {
            return &mut [];
        }
        let (first, last) = (at / LINE, (at + len - 1) / LINE);
        for page in first / PAGE_LINES..last / PAGE_LINES + 1 {
            let from = first.saturating_sub(page * PAGE_LINES);
            let to = (last - page * PAGE_LINES).min(PAGE_LINES - 1);
            self.mark(page, (u64::MAX >> (PAGE_LINES - 1 - (to - from))) << from);
        }
        self.memory.bytes_mut(at, len)
    }

    /// Writes bytes over as many; they must be in one segment. Lines that hold the same already do not become dirty.
    #[inline(always)]
    pub fn replace(&mut self, at: usize, new: &[u8]) {
        let page = at / PAGE;
        if (at + new.len()).saturating_sub(1) / PAGE != page {
            return self.replace_in_two_pages(at, new);
        }
        let old = self.memory.bytes(at, new.len());
        let (mut done, mut lines) = (0, 0);
        while done < new.len() {
            let to = (done + LINE - (at + done) % LINE).min(new.len());
            lines |= u64::from(differ(&old[done..to], &new[done..to])) << ((at + done) / LINE % PAGE_LINES);
            done = to;
        }
        if lines != 0 {
            self.mark(page, lines);
            self.memory.bytes_mut(at, new.len()).copy_from_slice(new);
        }
    }

    #[cold]
    #[inline(never)]
    fn replace_in_two_pages(&mut self, at: usize, new: &[u8]) {
        let mut done = 0;
        while done < new.len() {
            let len = (PAGE - (at + done) % PAGE).min(new.len() - done);
            self.replace(at + done, &new[done..done + len]);
            done += len;
        }
    }

    #[inline(always)]
    fn mark(&mut self, page: usize, lines: u64) {
        if self.dirty[page] & lines != lines {
            self.mark_new(page, lines);
        }
    }

    /// Makes lines dirty of which not all are.
    #[cold]
    #[inline(never)]
    fn mark_new(&mut self, page: usize, lines: u64) {
        if self.drain != Drain::Over {
            self.save(page, lines);
        }
        self.dirty[page] |= lines;
        self.mark_pages(page / SEGMENT_PAGES, 1 << (page % SEGMENT_PAGES));
    }

    /// Notes that pages of a segment have dirty lines.
    fn mark_pages(&mut self, segment: usize, pages: u16) {
        let Segment { group, ordinal, dirty, .. } = &mut self.segments[segment];
        if dirty[self.parity] == 0 && pages != 0 {
            self.changed[self.parity].add(*group as usize, *ordinal as usize);
        }
        dirty[self.parity] |= pages;
    }

    /// Copies frozen lines that are about to change.
    fn save(&mut self, page: usize, lines: u64) {
        match self.drain {
            Drain::Over | Drain::Back => return,
            Drain::Group if self.segments[page / SEGMENT_PAGES].group as usize != self.copied.turn() => {
                return;
            }
            _ => {}
        }
        let lines = self.frozen[page] & lines;
        if lines != 0 {
            self.frozen[page] &= !lines;
            self.copy_out(page, lines);
        }
    }

    fn copy_out(&mut self, page: usize, lines: u64) {
        let group = self.segments[page / SEGMENT_PAGES].group as usize;
        self.copied.add(group, self.local(page), lines, self.memory.bytes(page * PAGE, PAGE));
    }

    /// Barrier: the dirty lines are frozen as they are. Constant time.
    pub fn freeze(&mut self) {
        debug_assert!(self.drain == Drain::Over);
        #[cfg(test)]
        {
            self.with_shadow(super::shadow::Shadow::freeze);
            self.abandoned = false;
        }
        self.parity = 1 - self.parity;
        std::mem::swap(&mut self.dirty, &mut self.frozen);
        self.drain = Drain::All;
        self.cursor = (0, 0);
        self.all = self.changed[1 - self.parity].count();
        self.copied.begin();
    }

    /// Copies frozen lines of about so many bytes. Returns whether all are copied. Segments without any are not looked at.
    pub fn drain(&mut self, budget: usize) -> bool {
        match self.drain {
            Drain::Over => return true,
            Drain::Back => return self.take_back(),
            Drain::All | Drain::Group => {}
        }
        let mut left = budget;
        let (mut group, mut from) = self.cursor;
        while group < self.groups.len() {
            let Some(nth) = self.changed[1 - self.parity].next(group, from) else {
                (group, from) = (group + 1, 0);
                if self.drain == Drain::Group {
                    (self.drain, self.cursor) = (Drain::Back, (group, 0));
                    return self.take_back();
                }
                self.copied.next_turn();
                continue;
            };
            if left == 0 {
                self.cursor = (group, nth);
                return false;
            }
            self.ask_ahead(group, nth);
            self.changed[1 - self.parity].remove(group, nth);
            left = left.saturating_sub(self.drain_segment(self.groups[group][nth] as usize) + LINE);
            from = nth + 1;
        }
        self.drain = Drain::Over;
        self.copied.finish();
        true
    }

    /// Nobody wants the rest of what is frozen, and copies that wait for their turn go at once. What was copied stays a link of the
    /// chain: it is what changed, as far as it goes, and the next snapshot has all else.
    pub fn abandon(&mut self) {
        if self.drain == Drain::All {
            self.drain = if self.copied.has_begun() { Drain::Group } else { Drain::Back };
            // A line that was copied early has changed since, and is dirty.
            self.copied.forget_early();
            #[cfg(test)]
            {
                self.abandoned = true;
            }
        }
    }

    /// Makes frozen lines dirty again, of some segments. Returns whether no line is frozen any more.
    fn take_back(&mut self) -> bool {
        let (mut group, mut from) = self.cursor;
        let (mut left, frozen) = (TAKEN_BACK, 1 - self.parity);
        while group < self.groups.len() {
            let Some(nth) = self.changed[frozen].next(group, from) else {
                (group, from) = (group + 1, 0);
                continue;
            };
            if left == 0 {
                self.cursor = (group, nth);
                return false;
            }
            left -= 1;
            self.changed[frozen].remove(group, nth);
            let segment = self.groups[group][nth] as usize;
            let pages = std::mem::take(&mut self.segments[segment].dirty[frozen]);
            for page in (0..SEGMENT_PAGES).filter(|page| pages >> page & 1 == 1) {
                let page = segment * SEGMENT_PAGES + page;
                self.dirty[page] |= std::mem::take(&mut self.frozen[page]);
            }
            self.mark_pages(segment, pages);
            from = nth + 1;
        }
        self.drain = Drain::Over;
        self.copied.finish();
        true
    }

    /// Copies the frozen lines of a segment. Returns how many bytes these became.
    fn drain_segment(&mut self, segment: usize) -> usize {
        let (before, frozen) = (self.copied.bytes(), 1 - self.parity);
        let mut dirty = std::mem::take(&mut self.segments[segment].dirty[frozen]);
        while dirty != 0 {
            let page = segment * SEGMENT_PAGES + dirty.trailing_zeros() as usize;
            dirty &= dirty - 1;
            let lines = std::mem::take(&mut self.frozen[page]);
            if lines != 0 {
                self.copy_out(page, lines);
            }
        }
        self.copied.bytes() - before
    }

    /// Asks the memory for what the drain will come to soon: for the lines of the next segment, and for what says which
    /// these are of one some way behind it.
    fn ask_ahead(&self, group: usize, nth: usize) {
        const FAR: usize = 6;
        let frozen = 1 - self.parity;
        let (segments, changed) = (&self.groups[group], &self.changed[frozen]);
        let Some(next) = changed.next(group, nth + 1) else { return };
        // Where changes are many, most segments have some.
        let far = if changed.has(group, nth + FAR) { Some(nth + FAR) } else { changed.next(group, next + 1) };
        if let Some(far) = far {
            let far = segments[far] as usize;
            prefetch_index(&self.segments, far);
            for page in (0..SEGMENT_PAGES).step_by(8) {
                prefetch_index(&self.frozen, far * SEGMENT_PAGES + page);
            }
        }
        let next = segments[next];
        let mut dirty = self.segments[next as usize].dirty[frozen];
        while dirty != 0 {
            let page = next as usize * SEGMENT_PAGES + dirty.trailing_zeros() as usize;
            dirty &= dirty - 1;
            let mut lines = self.frozen[page];
            while lines != 0 {
                self.prefetch(page * PAGE_LINES + lines.trailing_zeros() as usize);
                lines &= lines - 1;
            }
        }
    }

    /// How many bytes of segments with changes the drain has gone through, and of how many.
    pub fn drained(&self) -> (u64, u64) {
        let bytes = |segments: usize| (segments * SEGMENT_PAGES * PAGE) as u64;
        let left = if self.drain != Drain::Over { self.changed[1 - self.parity].count() } else { 0 };
        (bytes(self.all - left), bytes(self.all))
    }

    /// Bytes of memory that copies of lines take which changed before their turn.
    pub fn kept_early(&self) -> usize {
        self.copied.waiting()
    }

    /// What was copied since the freeze and is not to be taken otherwise: for each group with changes its index and bytes.
    pub fn take_image(&mut self) -> impl Iterator<Item = (usize, Vec<u8>)> + use<> {
        let groups = self.copied.take_groups();
        #[cfg(test)]
        {
            groups.iter().for_each(|(group, bytes)| self.shadow.take(*group, bytes));
            self.shadow.compare(!self.abandoned);
        }
        groups.into_iter()
    }

    /// What was copied, piece by piece: see [`Copied`].
    pub fn take_piece(&mut self) -> Option<Piece> {
        let piece = self.copied.take();
        #[cfg(test)]
        if let Some(piece) = &piece {
            let mut rest = &piece.bytes[..];
            for (group, len) in &piece.parts {
                self.shadow.take(*group, rest.split_off(..*len).expect("a piece is as long as its parts"));
            }
        }
        piece
    }

    /// Tells the shadow of each page in use: group and number there, content, and dirty lines.
    #[cfg(test)]
    fn with_shadow(
        &mut self,
        tell: fn(&mut super::shadow::Shadow, &mut dyn Iterator<Item = super::shadow::Used<'_>>),
    ) {
        let mut shadow = std::mem::take(&mut self.shadow);
        let used = |page: &usize| {
            let segment = &self.segments[page / SEGMENT_PAGES];
            segment.group != NO_GROUP && segment.free >> (page % SEGMENT_PAGES) & 1 == 0
        };
        let mut all = (0..self.dirty.len()).filter(used).map(|page| {
            let group = self.segments[page / SEGMENT_PAGES].group as usize;
            let content = self.memory.bytes(page * PAGE, PAGE);
            ((group, self.local(page)), content, self.dirty[page])
        });
        tell(&mut shadow, &mut all);
        drop(all);
        self.shadow = shadow;
    }

    /// Takes the buffer of a piece back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.copied.recycle(buffer);
    }

    /// Pieces are to have so many bytes.
    pub fn pieces_of(&mut self, bytes: usize) {
        self.copied.chunks_of(bytes);
    }

    /// Has the next snapshot be one of everything, because one before it was lost.
    pub fn mark_all(&mut self) {
        #[cfg(test)]
        self.shadow.forget_base();
        for index in 1..self.segments.len() {
            let Segment { free, fresh, .. } = self.segments[index];
            for page in (0..SEGMENT_PAGES).filter(|page| fresh >> page & 1 == 0) {
                let lines = if free >> page & 1 == 0 { u64::MAX } else { 1 };
                self.dirty[index * SEGMENT_PAGES + page] |= lines;
            }
            self.mark_pages(index, !fresh & ALL_PAGES);
        }
    }

    /// Nothing has changed since the last snapshot: what is there is what was loaded, and in snapshots already.
    pub fn unmark_all(&mut self) {
        debug_assert!(self.drain == Drain::Over);
        self.segments.iter_mut().for_each(|segment| segment.dirty = [0; 2]);
        self.changed.iter_mut().for_each(Changed::clear);
        self.dirty.fill(0);
        #[cfg(test)]
        self.with_shadow(super::shadow::Shadow::resume);
    }

    /// Pages of a group, as many as `1 << log2`, side by side and in one segment, all zero. Returns the first.
    ///
    /// # Errors
    /// The system gives no more memory.
    pub fn allocate(&mut self, group: usize, log2: u32) -> Result<usize, ScratchError> {
        let run = run_mask(log2);
        let of_segment = |free: u16| (0..SEGMENT_PAGES).step_by(1 << log2).find(|at| free >> at & run == run);
        self.open[group].retain(|segment| self.segments[*segment as usize].free != 0);
        let found = self.open[group].iter().find_map(|segment| {
            Some((*segment as usize, of_segment(self.segments[*segment as usize].free)?))
        });
        let (segment, at) = match found {
            Some(found) => found,
            None => (self.add_segment(group as u32, self.groups[group].len() as u32)?, 0),
        };
        let pages = run << at;
        self.segments[segment].free &= !pages;
        let used_before = pages & !self.segments[segment].fresh != 0;
        self.segments[segment].fresh &= !pages;
        let first = segment * SEGMENT_PAGES + at;
        if used_before {
            self.write(first * PAGE, PAGE << log2).fill(0);
        }
        Ok(first)
    }

    /// Sees to it that so many single pages of a group can be allocated.
    ///
    /// # Errors
    /// The system gives no more memory.
    pub fn reserve(&mut self, group: usize, pages: u32) -> Result<(), ScratchError> {
        loop {
            let mut left = pages;
            for segment in &self.open[group] {
                left = left.saturating_sub(self.segments[*segment as usize].free.count_ones());
                if left == 0 {
                    return Ok(());
                }
            }
            self.add_segment(group as u32, self.groups[group].len() as u32)?;
        }
    }

    /// Gives pages back. Their first lines are cleared, which says that no bucket begins there; what else they hold no
    /// longer matters, and no snapshot need have it.
    pub fn release(&mut self, first: usize, log2: u32) {
        let (segment, at) = (first / SEGMENT_PAGES, first % SEGMENT_PAGES);
        self.open(segment, run_mask(log2) << at);
        for page in first..first + (1 << log2) {
            self.line_mut(page * PAGE_LINES).fill(0);
            self.dirty[page] = 1;
        }
    }

    fn add_segment(&mut self, group: u32, ordinal: u32) -> Result<usize, ScratchError> {
        self.memory.grow()?;
        Ok(self.note_segment(group, ordinal))
    }

    fn note_segment(&mut self, group: u32, ordinal: u32) -> usize {
        let segment = self.segments.len();
        let free = if group == NO_GROUP { 0 } else { ALL_PAGES };
        self.segments.push(Segment { group, ordinal, free, fresh: free, dirty: [0; 2] });
        for masks in [&mut self.dirty, &mut self.frozen] {
            masks.resize(masks.len() + SEGMENT_PAGES, 0);
        }
        if group != NO_GROUP {
            self.groups[group as usize].push(segment as u32);
            self.open[group as usize].push(segment as u32);
        }
        segment
    }

    /// Pages that a group has, in its own numbers.
    pub fn len_of(&self, group: usize) -> usize {
        self.groups[group].len() * SEGMENT_PAGES
    }

    /// The number of a group's page among all.
    pub fn page_of(&self, group: usize, local: usize) -> usize {
        self.groups[group][local / SEGMENT_PAGES] as usize * SEGMENT_PAGES + local % SEGMENT_PAGES
    }

    /// The number of a page in its group.
    pub fn local(&self, page: usize) -> u32 {
        let ordinal = self.segments[page / SEGMENT_PAGES].ordinal as usize;
        (ordinal * SEGMENT_PAGES + page % SEGMENT_PAGES) as u32
    }

    /// Writes lines of a group's page as a snapshot has them, which may be a page that the group does not have yet. They do
    /// not become dirty.
    ///
    /// # Errors
    /// The system gives no more memory.
    pub fn load(
        &mut self,
        group: usize,
        local: usize,
        lines: u64,
        content: &[u8],
    ) -> Result<(), ScratchError> {
        while self.len_of(group) <= local {
            let segment = self.add_segment(group as u32, self.groups[group].len() as u32)?;
            // Which pages are in use is known when all is loaded.
            self.segments[segment].free = 0;
        }
        let page = self.page_of(group, local);
        self.segments[page / SEGMENT_PAGES].fresh &= !(1 << (page % SEGMENT_PAGES));
        put_lines(self.memory.bytes_mut(page * PAGE, PAGE), lines, content);
        Ok(())
    }

    /// Hands out memory for segments that are filled elsewhere.
    pub fn cut(&mut self) -> Cutting<'_> {
        self.memory.cut()
    }

    /// Adds segments that were filled elsewhere, the next ones in memory, to a group. In each the pages of its mask have something,
    /// and which of them are in use is to be known later.
    pub fn add_filled(&mut self, group: usize, masks: &[u16]) {
        self.memory.added(masks.len());
        for mask in masks {
            let ordinal = self.groups[group].len() as u32;
            let segment = self.note_segment(group as u32, ordinal);
            self.segments[segment].free = 0;
            self.segments[segment].fresh &= !mask;
        }
    }

    /// Says that a bucket has pages, of which not all need have been in the snapshot: it leaves out lines that never were
    /// written.
    pub fn set_used(&mut self, first: usize, log2: u32) {
        let pages = run_mask(log2) << (first % SEGMENT_PAGES);
        self.segments[first / SEGMENT_PAGES].fresh &= !pages;
    }

    /// Says that no bucket has a page that was loaded.
    pub fn set_free(&mut self, page: usize) {
        self.open(page / SEGMENT_PAGES, 1 << (page % SEGMENT_PAGES));
    }

    /// Notes that pages of a segment are free.
    fn open(&mut self, segment: usize, pages: u16) {
        let info = &mut self.segments[segment];
        info.free |= pages;
        let open = &mut self.open[info.group as usize];
        if !open.contains(&(segment as u32)) {
            open.push(segment as u32);
        }
    }
}

/// Whether byte strings of one length differ. Eight bytes at a time and to the end: what was written a moment ago in pieces is not
/// read in larger ones, for which the processor would wait until all pieces have reached the cache. (Measured: the comparison of
/// 100 bytes took longer than all else about an update.)
#[inline(always)]
fn differ(old: &[u8], new: &[u8]) -> bool {
    let ((old, old_rest), (new, new_rest)) = (old.as_chunks::<8>(), new.as_chunks::<8>());
    let words = old
        .iter()
        .zip(new)
        .fold(0, |differ, (old, new)| differ | (u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new)));
    let rest = old_rest.iter().zip(new_rest).fold(0, |differ, (old, new)| differ | (old ^ new));
    words | u64::from(rest) != 0
}

/// So many pages, as a mask.
fn run_mask(log2: u32) -> u16 {
    ((1u32 << (1 << log2)) - 1) as u16
}
