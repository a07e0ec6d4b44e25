//! Keys and values of any size: an index of short hashes, whose slots say where the record is.
//!
//! The homes are lines of sixteen slots of four bytes: in the upper half bits 16 to 31 of the key's hash (the bits above
//! them choose bucket and home), in the lower half where its record begins, in units of eight bytes from the beginning of the
//! bucket. An empty slot is zero. A record is the encoded key and, right behind it, the encoded value. Records follow one
//! another behind the index; one that became longer moves to their end, and what it leaves is made good when the bucket
//! is laid out anew. (Slots with all of the hash were measured: an index twice as large no longer fits the caches that this
//! one fits.)

use super::{Form, Header, Lead, MAX_LOG2, Place, Shape, Spot, encoded_in, parsed, with_encoded};
use crate::paged::memory::{LINE, Line, PAGE, SEGMENT};
use crate::paged::pages::Pages;
use millstream_io::record::{Key, Record, Wire};

/// The bits of a hash that a slot has, where it has them.
const TAG: u32 = 0xffff_0000;

/// What a record begins at a multiple of.
const UNIT: usize = 8;

/// Bytes of a slot.
const SLOT: usize = 4;

/// Slots of a line.
const PER_LINE: usize = LINE / SLOT;

/// The largest key with its value, encoded: so that a bucket takes several.
const MOST: usize = SEGMENT / 4;

/// See the module page.
#[derive(Debug)]
pub(in crate::paged) struct Records;

/// A key that is looked for.
#[derive(Clone, Copy)]
pub(in crate::paged) struct Probe<'a> {
    tag: u32,
    key: &'a [u8],
}

fn rounded(len: usize) -> usize {
    len.next_multiple_of(UNIT)
}

/// Bytes that a value takes, which begins the bytes.
#[inline(always)]
fn size_of_value<T: Record>(bytes: &[u8]) -> usize {
    T::Wire::FIXED.unwrap_or_else(|| parsed::<T>(bytes).1)
}

/// What is there from a place on to the end of its segment.
#[inline(always)]
fn behind(pages: &Pages, at: usize) -> &[u8] {
    pages.bytes(at, SEGMENT - at % SEGMENT)
}

impl Records {
    fn slots(homes: u32) -> usize {
        homes as usize * PER_LINE
    }

    fn limit(homes: u32) -> usize {
        Self::slots(homes) / 8 * 7
    }

    fn slot_at(lead: Lead, slot: usize) -> usize {
        lead.at() + LINE + slot * SLOT
    }

    fn slot(pages: &Pages, at: usize) -> u32 {
        slot_of(pages.bytes(at, SLOT))
    }

    /// Where the record of a slot is.
    #[inline(always)]
    fn record_of(bucket: usize, slot: u32) -> usize {
        bucket + (slot & !TAG) as usize * UNIT
    }

    #[inline(always)]
    fn matches(pages: &Pages, bucket: usize, slot: u32, probe: Probe<'_>) -> bool {
        slot & TAG == probe.tag
            && slot != 0
            && behind(pages, Self::record_of(bucket, slot)).starts_with(probe.key)
    }

    /// The first empty slot from a hash's home on.
    fn empty_slot(pages: &Pages, lead: Lead, hash: u64) -> usize {
        let slots = Self::slots(lead.homes());
        let mut slot = (lead.home(hash) as usize - 1) * PER_LINE;
        while Self::slot(pages, Self::slot_at(lead, slot)) != 0 {
            slot = if slot + 1 == slots { 0 } else { slot + 1 };
        }
        Self::slot_at(lead, slot)
    }

    /// Puts a record at the end of those of a bucket; `None` where there is no room.
    fn append(pages: &mut Pages, lead: Lead, header: &mut Header, parts: [&[u8]; 2]) -> Option<u32> {
        let len = parts[0].len() + parts[1].len();
        let (top, end) = (header.top as usize, header.top as usize + rounded(len));
        if end > header.bytes() {
            return None;
        }
        header.top = end as u32;
        header.write(pages, lead.line);
        let out = pages.write(lead.at() + top, len);
        out[..parts[0].len()].copy_from_slice(parts[0]);
        out[parts[0].len()..].copy_from_slice(parts[1]);
        Some((top / UNIT) as u32)
    }

    fn put(pages: &mut Pages, lead: Lead, hash: u64, parts: [&[u8]; 2]) -> bool {
        let mut header = Header::read(pages, lead.line);
        if header.count as usize >= Self::limit(lead.homes()) {
            return false;
        }
        header.count += 1;
        let Some(unit) = Self::append(pages, lead, &mut header, parts) else { return false };
        let at = Self::empty_slot(pages, lead, hash);
        pages.write(at, SLOT).copy_from_slice(&(tag(hash) | unit).to_le_bytes());
        true
    }
}

#[inline(always)]
fn slot_of(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |slot| u32::from_le_bytes(*slot))
}

/// What a slot has of a hash.
#[inline(always)]
fn tag(hash: u64) -> u32 {
    hash as u32 & TAG
}

/// The slots of a line with a tag, as a mask: in all lanes at once, without a branch.
#[inline(always)]
fn with_tag(line: &Line, tag: u32) -> u32 {
    let slots = line.as_chunks::<SLOT>().0.iter().map(|slot| u32::from_le_bytes(*slot));
    slots.enumerate().fold(0, |mask, (index, slot)| mask | u32::from(slot & TAG == tag && slot != 0) << index)
}

impl<K: Key, V: Record> Form<K, V> for Records {
    const KIND: u8 = 2;

    const MOST: usize = MOST;

    const IN_HOME: bool = false;

    type Probe<'a> = Probe<'a>;

    #[inline(always)]
    fn with_probe<R>(hash: u64, key: K::Ref<'_>, f: impl FnOnce(Probe<'_>) -> R) -> R {
        with_encoded::<K, R>(key, |key| f(Probe { tag: tag(hash), key }))
    }

    #[inline(always)]
    fn place(lead: Lead, hash: u64) -> Place {
        Place { home: lead.line + lead.home(hash), behind: lead.line }
    }

    #[inline(always)]
    fn home_line(place: Place) -> usize {
        place.home as usize
    }

    #[inline(always)]
    fn approach(pages: &Pages, place: Place, hash: u64) {
        let line = pages.line(place.home as usize);
        let mask = with_tag(line, tag(hash));
        let slot = slot_of(&line[mask.trailing_zeros() as usize % PER_LINE * SLOT..]);
        let at = Self::record_of(place.behind as usize * LINE, slot);
        // Of a record of unknown size the beginning; the processor asks for the next line by itself.
        let size = V::Wire::FIXED.map_or(LINE, |value| K::Wire::FIXED.unwrap_or(UNIT) + value);
        for line in at / LINE..(at + size.clamp(1, 4 * LINE) - 1) / LINE + 1 {
            pages.prefetch(line);
        }
        pages.prefetch_mask(at / LINE);
    }

    #[inline(always)]
    fn find_near(pages: &Pages, place: Place, probe: Probe<'_>) -> Option<Spot> {
        let line = pages.line(place.home as usize);
        let bucket = place.behind as usize * LINE;
        let mask = with_tag(line, probe.tag);
        let index = mask.trailing_zeros() as usize % PER_LINE;
        let slot = slot_of(&line[index * SLOT..]);
        let value = Self::record_of(bucket, slot) + probe.key.len();
        Self::matches(pages, bucket, slot, probe)
            .then_some(Spot { slot: place.home as usize * LINE + index * SLOT, value })
    }

    fn find(pages: &Pages, lead: Lead, hash: u64, probe: Probe<'_>) -> Option<Spot> {
        let slots = Self::slots(lead.homes());
        let mut index = (lead.home(hash) as usize - 1) * PER_LINE;
        loop {
            let at = Self::slot_at(lead, index);
            let slot = Self::slot(pages, at);
            if slot == 0 {
                return None;
            }
            if Self::matches(pages, lead.at(), slot, probe) {
                let value = Self::record_of(lead.at(), slot) + probe.key.len();
                return Some(Spot { slot: at, value });
            }
            index = if index + 1 == slots { 0 } else { index + 1 };
        }
    }

    #[inline(always)]
    fn read(pages: &Pages, spot: Spot) -> V {
        V::own(parsed::<V>(behind(pages, spot.value)).0)
    }

    #[inline(always)]
    fn update(pages: &mut Pages, spot: Spot, value: &V) -> bool {
        let size = V::Wire::size(V::to_wire(value.view()));
        let fits = size_of_value::<V>(behind(pages, spot.value)) == size;
        if fits {
            encoded_in::<V>(pages, spot.value, size, value);
        }
        fits
    }

    fn replace(pages: &mut Pages, lead: Lead, spot: Spot, value: &V) -> bool {
        let mut header = Header::read(pages, lead.line);
        let slot = Self::slot(pages, spot.slot);
        let record = Self::record_of(lead.at(), slot);
        let key = pages.bytes(record, spot.value - record).to_vec();
        let unit =
            with_encoded::<V, _>(value.view(), |value| Self::append(pages, lead, &mut header, [&key, value]));
        let Some(unit) = unit else { return false };
        pages.write(spot.slot, SLOT).copy_from_slice(&(slot & TAG | unit).to_le_bytes());
        true
    }

    fn insert(pages: &mut Pages, lead: Lead, hash: u64, probe: Probe<'_>, value: &V) -> bool {
        with_encoded::<V, _>(value.view(), |value| Self::put(pages, lead, hash, [probe.key, value]))
    }

    fn remove(pages: &mut Pages, lead: Lead, spot: Spot) {
        let mut header = Header::read(pages, lead.line);
        header.count -= 1;
        header.write(pages, lead.line);
        let slots = Self::slots(lead.homes());
        let mut hole = (spot.slot - Self::slot_at(lead, 0)) / SLOT;
        let mut index = hole;
        loop {
            index = (index + 1) % slots;
            let slot = Self::slot(pages, Self::slot_at(lead, index));
            if slot == 0 {
                break;
            }
            let hash = K::hash(parsed::<K>(behind(pages, Self::record_of(lead.at(), slot))).0);
            let home = (lead.home(hash) as usize - 1) * PER_LINE;
            let distance = |from: usize| (index + slots - from) % slots;
            if distance(home) >= distance(hole) {
                pages.write(Self::slot_at(lead, hole), SLOT).copy_from_slice(&slot.to_le_bytes());
                hole = index;
            }
        }
        pages.write(Self::slot_at(lead, hole), SLOT).fill(0);
    }

    fn each(bucket: &[u8], mut f: impl FnMut(usize, u64, &[u8])) {
        let Some(header) = bucket.first_chunk().map(Header::parse) else { return };
        let slots = bucket[LINE..][..usize::from(header.homes) * LINE].chunks_exact(SLOT).map(slot_of);
        for (at, slot) in slots.enumerate() {
            if slot != 0 {
                let record = &bucket[Self::record_of(0, slot)..];
                let (key, size) = parsed::<K>(record);
                let entry = &record[..size + size_of_value::<V>(&record[size..])];
                f(LINE + at * SLOT, K::hash(key), entry);
            }
        }
    }

    fn add(pages: &mut Pages, lead: Lead, hash: u64, entry: &[u8]) -> bool {
        Self::put(pages, lead, hash, [entry, &[]])
    }

    fn shape(entries: usize, bytes: usize) -> Option<Shape> {
        // Room for a third more, or at least for something.
        [3, 8, 32].into_iter().find_map(|part| {
            let homes = (entries + entries / part + 1).div_ceil(PER_LINE / 2);
            let lines = 1 + homes + (bytes + bytes / part).div_ceil(LINE);
            let log2 = (0..MAX_LOG2 + 1).find(|log2| (PAGE << log2) / LINE >= lines)?;
            // The lines that are left are given out in the same proportion.
            let spare = (PAGE << log2) / LINE - lines;
            let homes = (homes + spare * homes / lines) as u32;
            Some(Shape { log2, homes, top: (1 + homes) * LINE as u32 })
        })
    }

    fn check(header: &Header, bucket: &[u8]) -> Result<(), &'static str> {
        let first = (usize::from(header.homes) + 1) * LINE;
        let top = header.top as usize;
        if header.homes == 0 || first > bucket.len() || !(first..bucket.len() + 1).contains(&top) {
            return Err("a bucket's index or records go beyond its end");
        }
        let mut records = Vec::new();
        for slot in bucket[LINE..first].chunks_exact(SLOT).map(slot_of).filter(|slot| *slot != 0) {
            let at = Self::record_of(0, slot);
            let record = bucket.get(at..top).filter(|_| at >= first).ok_or("a slot leads to no record")?;
            let (key, size) = K::parse(record).map_err(|_| "a key in a bucket is not well-formed")?;
            if tag(K::hash(key)) != slot & TAG {
                return Err("a slot has another hash than its key");
            }
            let value = V::parse(&record[size..]).map_err(|_| "a value in a bucket is not well-formed")?.1;
            records.push((at, at + rounded(size + value)));
        }
        records.sort_unstable();
        let apart = records.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        if !apart || records.iter().any(|(at, end)| end - at > MOST || *end > bucket.len()) {
            return Err("records overlap, or are larger than they may be");
        }
        if records.len() > Self::limit(header.homes.into()) {
            return Err("a bucket has more keys than it takes");
        }
        Ok(())
    }

    #[inline(always)]
    fn with_key<R>(entry: &[u8], f: impl FnOnce(K::Ref<'_>) -> R) -> R {
        f(parsed::<K>(entry).0)
    }

    fn with_entry<R>(entry: &[u8], f: impl FnOnce(K::Ref<'_>, V) -> R) -> R {
        let (key, size) = parsed::<K>(entry);
        f(key, V::own(parsed::<V>(&entry[size..]).0))
    }
}
