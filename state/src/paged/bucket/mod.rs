//! Buckets: a run of pages with a part of one key group's keys, chosen by the top bits of their hashes.
//!
//! The first line of a bucket is its header, the lines behind it are homes: a key's home is chosen by the bits of its
//! hash that follow those that chose the bucket. There are three forms, chosen by the types of key and value: [`Words`] for
//! small values of a fixed size under word keys, [`Slots`] for other keys and values of a fixed size, [`Records`] for all that is
//! left.

mod header;
mod records;
mod slots;
mod words;

pub(super) use header::{ASIDE, Header, Shape};
pub(super) use records::Records;
pub(super) use slots::Slots;
pub(super) use words::{BLANK, WORD, Words};

use super::memory::{LINE, PAGE};
use super::pages::Pages;
use millstream_io::record::{Key, Record, Wire};

/// The largest bucket: a whole segment.
pub(super) const MAX_LOG2: u32 = super::memory::SEGMENT_PAGES.ilog2();

/// The top bits of a hash that may choose a bucket: beyond them the bits that choose a home would run out.
pub(super) const MAX_DEPTH: u32 = 16;

/// Where the hashes with some top bits lead: all that finding a home takes. Small, since the leads of a large table are
/// many, and all are in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    /// The number of the bucket's first line.
    pub line: u32,
    /// Homes: lines, or groups of tags.
    homes: u16,
    /// How many top bits chose the bucket.
    depth: u8,
}

impl Lead {
    /// Leads to nothing: see [`Pages::new`].
    pub const NOTHING: Self = Self { line: 0, homes: 1, depth: 0 };

    pub fn new(page: usize, header: Header) -> Self {
        Self { line: (page * (PAGE / LINE)) as u32, homes: header.homes, depth: header.depth }
    }

    /// Homes: lines, or groups of tags.
    pub fn homes(self) -> u32 {
        self.homes.into()
    }

    /// How many top bits chose the bucket.
    pub fn depth(self) -> u32 {
        self.depth.into()
    }

    /// Whether it leads to no bucket.
    pub fn is_nothing(self) -> bool {
        self.line == 0
    }

    /// The home of a hash: its line, counted from the bucket's; or its group, counted from 1.
    #[inline(always)]
    pub fn home(self, hash: u64) -> u32 {
        let bits = (hash << self.depth) >> 32;
        1 + ((bits * u64::from(self.homes)) >> 32) as u32
    }

    /// Where the bucket begins, in bytes.
    pub fn at(self) -> usize {
        self.line as usize * LINE
    }
}

/// Where a key probably is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its home: the number of that line, or group of tags, among all that memory has.
    pub(super) home: u32,
    /// A line from which what the home tells of is counted: the first one of the bucket, or of the group's slots.
    pub(super) behind: u32,
}

/// Where a key is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// Its slot, in bytes from the beginning of the memory.
    pub slot: usize,
    /// Its value, likewise.
    pub value: usize,
}

/// How a bucket keeps its keys.
///
/// `insert`, `update` and `add` answer `false`, and leave the bucket as it was, where there is no more room.
pub(super) trait Form<K: Key, V: Record>: Send + 'static {
    /// The kind in the header.
    const KIND: u8;

    /// The largest entry.
    const MOST: usize;

    /// Whether the value is in the home.
    const IN_HOME: bool;

    /// What is looked for.
    type Probe<'a>: Copy;

    /// Calls `f` with what to look for.
    fn with_probe<R>(hash: u64, key: K::Ref<'_>, f: impl FnOnce(Self::Probe<'_>) -> R) -> R;

    /// Where a hash's home is.
    fn place(lead: Lead, hash: u64) -> Place;

    /// The line of a home.
    fn home_line(place: Place) -> usize;

    /// Asks the memory for what is behind the home, once the home is there.
    fn approach(pages: &Pages, place: Place, hash: u64);

    /// The key where it is in its home line.
    fn find_near(pages: &Pages, place: Place, probe: Self::Probe<'_>) -> Option<Spot>;

    /// The key.
    fn find(pages: &Pages, lead: Lead, hash: u64, probe: Self::Probe<'_>) -> Option<Spot>;

    /// The value at a spot.
    fn read(pages: &Pages, spot: Spot) -> V;

    /// Changes the value at a spot in place, where the new one takes as many bytes as the old one.
    fn update(pages: &mut Pages, spot: Spot, value: &V) -> bool;

    /// Changes the value of a key that is there.
    fn replace(pages: &mut Pages, lead: Lead, spot: Spot, value: &V) -> bool;

    /// Puts in a key that is not there.
    fn insert(pages: &mut Pages, lead: Lead, hash: u64, probe: Self::Probe<'_>, value: &V) -> bool;

    /// Takes a key out.
    fn remove(pages: &mut Pages, lead: Lead, spot: Spot);

    /// Calls `f` for every key with its value: with the slot, counted from the beginning of the bucket, with the hash, and with
    /// the bytes, which are what [`Form::add`] takes. `bucket` are the bytes of a whole bucket.
    fn each(bucket: &[u8], f: impl FnMut(usize, u64, &[u8]));

    /// Puts in what [`Form::each`] gave of another bucket.
    fn add(pages: &mut Pages, lead: Lead, hash: u64, entry: &[u8]) -> bool;

    /// What takes so many entries of so many bytes altogether, with room for about a third more; `None` where no bucket
    /// is as large.
    fn shape(entries: usize, bytes: usize) -> Option<Shape>;

    /// Looks at a bucket that comes from a file, all but whether its keys belong there.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(header: &Header, bucket: &[u8]) -> Result<(), &'static str>;

    /// Calls `f` with the key of an entry that [`Form::each`] gave.
    fn with_key<R>(entry: &[u8], f: impl FnOnce(K::Ref<'_>) -> R) -> R;

    /// The same with its value as well.
    fn with_entry<R>(entry: &[u8], f: impl FnOnce(K::Ref<'_>, V) -> R) -> R;
}

/// What is encoded without asking for memory.
const SMALL: usize = 256;

/// Calls `f` with the encoding of a view.
#[inline(always)]
fn with_encoded<T: Record, R>(view: T::Ref<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
    let size = T::Wire::size(T::to_wire(view));
    let mut small = [0; SMALL];
    if let Some(bytes) = small.get_mut(..size) {
        T::encode_to(view, bytes);
        f(bytes)
    } else {
        f(&T::encode(view))
    }
}

/// The record that bytes begin with, which were encoded here or checked.
#[inline(always)]
fn parsed<T: Record>(bytes: &[u8]) -> (T::Ref<'_>, usize) {
    match T::parse(bytes) {
        Ok(parsed) => parsed,
        Err(error) => panic!("a record in the table is well-formed: {error}"),
    }
}

/// Writes a value over one that takes as many bytes.
#[inline(always)]
fn encoded_in<V: Record>(pages: &mut Pages, at: usize, size: usize, value: &V) {
    match pages.dirty_mut(at, size) {
        Some(bytes) => V::encode_to(value.view(), bytes),
        None => with_encoded::<V, _>(value.view(), |new| pages.replace(at, new)),
    }
}
