//! Nodes: a page with entries in the order of their keys, leaf and inner ones alike.
//!
//! Behind the header are the slots, two bytes each, which say where in the page an entry is; entries lie at the page's end, a new one
//! before those that are there. So what is put in changes the header, its own bytes, and the slots behind its own. Slots
//! in use need not begin with the first: taking out the first entry changes the header alone. An entry that is taken out, or
//! becomes larger, leaves a hole, which is made good when the page is built anew.
//!
//! An entry is the key's length (two bytes, the highest bit says that the value is in a [run](super::run)), the value's length
//! (two bytes), key and value. In an inner node the value is the number of a page in the group, four bytes, which has the keys from
//! this one on and before the next one; the first key does not count, since the entry before it in the parent, or none, says it.

use super::build::Builder;
use crate::paged::memory::PAGE;
use crate::paged::pages::Pages;
use std::cmp::Ordering;

/// Bytes of a page that a node uses. (Few in unit tests, so that some hundred keys make a tree of several levels.)
pub(super) const USED: usize = if cfg!(test) { 512 } else { PAGE };

/// The longest key.
pub(super) const MOST_KEY: usize = if cfg!(test) { 100 } else { 1000 };

/// The largest entry with its slot: four fit a node, so that two nodes take what one and one entry more are.
pub(super) const MOST_ENTRY: usize = (USED - HEADER) / 4;

/// Bytes of what leads to a run.
pub(super) const REFERENCE: usize = 8;

/// Bytes of the header.
pub(super) const HEADER: usize = 16;

/// Bytes of a slot.
pub(super) const SLOT: usize = 2;

/// What an entry has before its key.
pub(super) const HEAD: usize = 4;

/// The bit of a key's length that says that the value is in a run.
pub(super) const FAR: u16 = 1 << 15;

const _: () = assert!(SLOT + HEAD + MOST_KEY + REFERENCE <= MOST_ENTRY && MOST_ENTRY < FAR as usize);

/// The kinds of nodes, which the first byte of a page says.
pub(super) const LEAF: u8 = 3;
pub(super) const INNER: u8 = 4;

/// The bytes of a page.
pub(super) type Page = [u8; PAGE];

/// An entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub key: &'a [u8],
    /// The value, or what leads to it.
    pub value: &'a [u8],
    /// Whether the value is in a run.
    pub far: bool,
}

impl Item<'_> {
    /// Bytes that it takes, without its slot.
    pub fn size(&self) -> usize {
        HEAD + self.key.len() + self.value.len()
    }
}

/// The first bytes of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub kind: u8,
    /// Levels below this one: 0 in a leaf.
    pub level: u8,
    /// The first slot in use.
    pub first: usize,
    /// Entries.
    pub count: usize,
    /// Where the entries begin.
    pub top: usize,
    /// Bytes of entries, without holes.
    pub live: usize,
}

impl Header {
    pub fn parse(page: &Page) -> Self {
        let half = |at: usize| u16::from_le_bytes([page[at], page[at + 1]]).into();
        let (kind, level) = (page[0], page[1]);
        Self { kind, level, first: half(2), count: half(4), top: half(6), live: half(8) }
    }

    pub fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..2].copy_from_slice(&[self.kind, self.level]);
        let halves = [self.first, self.count, self.top, self.live];
        for (out, half) in bytes[2..].chunks_exact_mut(2).zip(halves) {
            out.copy_from_slice(&(half as u16).to_le_bytes());
        }
        bytes
    }

    fn write(&self, pages: &mut Pages, page: usize) {
        pages.write(page * PAGE, HEADER).copy_from_slice(&self.bytes());
    }

    /// Bytes in use, but for the header.
    pub fn used(&self) -> usize {
        self.live + self.count * SLOT
    }

    /// Bytes that are free once the node is built anew.
    pub fn room(&self) -> usize {
        USED - HEADER - self.used()
    }

    /// Bytes between slots and entries.
    fn gap(&self) -> usize {
        self.top - slot_at(self.first + self.count)
    }
}

/// Where a slot is.
pub(super) fn slot_at(slot: usize) -> usize {
    HEADER + slot * SLOT
}

/// A node that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'a> {
    pub page: &'a Page,
    pub header: Header,
}

impl<'a> Node<'a> {
    pub fn of(pages: &'a Pages, page: usize) -> Self {
        let page = pages.page(page);
        Self { page, header: Header::parse(page) }
    }

    pub fn count(&self) -> usize {
        self.header.count
    }

    pub fn is_leaf(&self) -> bool {
        self.header.level == 0
    }

    fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.page[at], self.page[at + 1]])
    }

    /// Where an entry begins.
    pub fn at(&self, index: usize) -> usize {
        self.half(slot_at(self.header.first + index)).into()
    }

    pub fn key(&self, index: usize) -> &'a [u8] {
        let at = self.at(index);
        &self.page[at + HEAD..][..(self.half(at) & !FAR).into()]
    }

    pub fn item(&self, index: usize) -> Item<'a> {
        let at = self.at(index);
        let (key, value) = (self.half(at), usize::from(self.half(at + 2)));
        let (far, len) = (key & FAR != 0, usize::from(key & !FAR));
        let (key, rest) = self.page[at + HEAD..].split_at(len);
        Item { key, value: &rest[..value], far }
    }

    pub fn items(self) -> impl Iterator<Item = Item<'a>> {
        (0..self.count()).map(move |index| self.item(index))
    }

    /// The entry of a key; or else where it would be.
    pub fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.search_from(0, key)
    }

    fn search_from(&self, mut low: usize, key: &[u8]) -> Result<usize, usize> {
        let mut high = self.count();
        while low < high {
            let middle = (low + high) / 2;
            match compare(self.key(middle), key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// Of an inner node the entry whose page has a key.
    pub fn way(&self, key: &[u8]) -> usize {
        match self.search_from(1, key) {
            Ok(index) => index,
            Err(index) => index - 1,
        }
    }

    /// Of an inner node the page that an entry leads to.
    pub fn child(&self, index: usize) -> usize {
        self.item(index).value.first_chunk().map_or(0, |page| u32::from_le_bytes(*page)) as usize
    }
}

/// How keys compare. Eight bytes at a time: most keys differ in the first few, and a call for them would take longer.
#[inline(always)]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a_words.iter().zip(b_words) {
        if a != b {
            return u64::from_be_bytes(*a).cmp(&u64::from_be_bytes(*b));
        }
    }
    match a_words.len().cmp(&b_words.len()) {
        Ordering::Equal => a_rest.cmp(b_rest),
        Ordering::Less => a_rest.cmp(&b[a.len() - a_rest.len()..]),
        Ordering::Greater => a[b.len() - b_rest.len()..].cmp(b_rest),
    }
}

/// Puts an entry in. Answers `false`, and leaves the node as it was, where there is no room.
pub(super) fn insert(pages: &mut Pages, page: usize, index: usize, item: Item<'_>) -> bool {
    let mut header = Header::parse(pages.page(page));
    if header.gap() < item.size() + SLOT {
        if header.room() < item.size() + SLOT {
            return false;
        }
        header = build_anew(pages, page);
    }
    let at = write_entry(pages, page, &mut header, item);
    if index * 2 < header.count && header.first > 0 {
        move_slots(pages, page, header.first..header.first + index, header.first - 1);
        header.first -= 1;
    } else {
        let slot = header.first + index;
        move_slots(pages, page, slot..header.first + header.count, slot + 1);
    }
    header.count += 1;
    set_slot(pages, page, header.first + index, at);
    header.write(pages, page);
    true
}

/// Puts an entry in the place of one with the same key. Answers `false`, and leaves the node as it was, where there is no room between
/// slots and entries.
pub(super) fn put_over(pages: &mut Pages, page: usize, index: usize, item: Item<'_>) -> bool {
    let mut header = Header::parse(pages.page(page));
    if header.gap() < item.size() {
        return false;
    }
    header.live -= Node::of(pages, page).item(index).size();
    let at = write_entry(pages, page, &mut header, item);
    set_slot(pages, page, header.first + index, at);
    header.write(pages, page);
    true
}

/// Takes an entry out.
pub(super) fn remove(pages: &mut Pages, page: usize, index: usize) {
    let node = Node::of(pages, page);
    let mut header = node.header;
    header.live -= node.item(index).size();
    let slot = header.first + index;
    if index * 2 < header.count {
        move_slots(pages, page, header.first..slot, header.first + 1);
        header.first += 1;
    } else {
        move_slots(pages, page, slot + 1..header.first + header.count, slot);
    }
    header.count -= 1;
    header.write(pages, page);
}

/// Takes out all entries from one on.
pub(super) fn truncate(pages: &mut Pages, page: usize, count: usize) {
    let node = Node::of(pages, page);
    let mut header = node.header;
    header.live = node.items().take(count).map(|item| item.size()).sum();
    header.count = count;
    header.write(pages, page);
}

/// Changes bytes of an entry's value.
pub(super) fn change_value(pages: &mut Pages, page: usize, index: usize, value: &[u8]) {
    let node = Node::of(pages, page);
    let at = node.at(index) + HEAD + node.key(index).len();
    pages.replace(page * PAGE + at, value);
}

fn write_entry(pages: &mut Pages, page: usize, header: &mut Header, item: Item<'_>) -> usize {
    header.top -= item.size();
    header.live += item.size();
    put_item(pages.write(page * PAGE + header.top, item.size()), item);
    header.top
}

/// Writes an entry to as many bytes as it takes.
pub(super) fn put_item(out: &mut [u8], item: Item<'_>) {
    let far = if item.far { FAR } else { 0 };
    out[..2].copy_from_slice(&(item.key.len() as u16 | far).to_le_bytes());
    out[2..HEAD].copy_from_slice(&(item.value.len() as u16).to_le_bytes());
    let (key, value) = out[HEAD..].split_at_mut(item.key.len());
    key.copy_from_slice(item.key);
    value.copy_from_slice(item.value);
}

fn set_slot(pages: &mut Pages, page: usize, slot: usize, at: usize) {
    pages.write(page * PAGE + slot_at(slot), SLOT).copy_from_slice(&(at as u16).to_le_bytes());
}

/// Moves slots by one, to begin at another place.
fn move_slots(pages: &mut Pages, page: usize, slots: std::ops::Range<usize>, to: usize) {
    if slots.is_empty() {
        return;
    }
    let first = slots.start.min(to);
    let out = pages.write(page * PAGE + slot_at(first), (slots.len() + 1) * SLOT);
    let len = slots.len() * SLOT;
    out.copy_within((slots.start - first) * SLOT..(slots.start - first) * SLOT + len, (to - first) * SLOT);
}

/// Builds a node anew, without holes.
fn build_anew(pages: &mut Pages, page: usize) -> Header {
    let node = Node::of(pages, page);
    let mut builder = Builder::new(node.header.kind, node.header.level);
    node.items().for_each(|item| builder.push(item));
    builder.write(pages, page)
}
