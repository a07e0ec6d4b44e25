//! Keys and values of a fixed size, larger than words: a byte of its hash for each key, apart from the slots that hold keys and
//! values.
//!
//! The tags, sixteen side by side in a group, are the first lines behind the header, the slots follow in the same order. A home is
//! a group of tags; a key is in the first group from there on, round about, that had room for it. A tag is 0 where the slot is
//! empty, and 1 where a key was taken out of a group that was full, so that what is behind it is still found. So a lookup touches
//! one line of tags, which are few and stay in the caches, and the lines of one slot.

use super::{Form, Header, Lead, MAX_LOG2, Place, Shape, Spot, encoded_in, parsed, with_encoded};
use crate::paged::memory::{LINE, PAGE, SEGMENT};
use crate::paged::pages::Pages;
use millstream_io::record::{Key, Record, Wire};

/// Tags of a group.
const GROUP: usize = 16;

/// The largest key with its value, encoded: so that a bucket takes several groups.
const MOST: usize = SEGMENT / 64;

const EMPTY: u8 = 0;
const REMOVED: u8 = 1;

/// See the module page.
#[derive(Debug)]
pub(in crate::paged) struct Slots;

/// A key that is looked for.
#[derive(Clone, Copy)]
pub(in crate::paged) struct Probe<'a> {
    tag: u8,
    key: &'a [u8],
}

/// Where a group is.
#[derive(Clone, Copy)]
struct Group {
    /// Its first tag.
    tags: usize,
    /// Its first slot.
    slots: usize,
}

/// What a slot has of a hash: the lowest bits that count, which choose a home last of all.
#[inline(always)]
fn tag(hash: u64) -> u8 {
    let tag = (hash >> 16) as u8;
    if tag > REMOVED { tag } else { tag + 2 }
}

/// Those of sixteen tags that are this one, as a mask.
#[inline(always)]
fn equal(tags: &[u8; GROUP], tag: u8) -> u32 {
    const LOW: u128 = u128::MAX / 255 * 127;
    let differ = u128::from_le_bytes(*tags) ^ (u128::MAX / 255 * u128::from(tag));
    // The top bit of a byte stays clear where all of the byte is.
    let top = !(((differ & LOW) + LOW) | differ | LOW);
    let gather = |half: u64| (half >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    (gather(top as u64) | gather((top >> 64) as u64) << 8) as u32
}

/// Bytes of a key and its value.
const fn size<K: Key, V: Record>() -> usize {
    match (K::Wire::FIXED, V::Wire::FIXED) {
        (Some(key), Some(value)) => key + value,
        _ => 0,
    }
}

/// Bytes of a slot: whole lines where that takes little more, since then it touches one line less.
const fn stride<K: Key, V: Record>() -> usize {
    let (least, lines) = (size::<K, V>().next_multiple_of(8), size::<K, V>().next_multiple_of(LINE));
    match (least, lines - least <= least / 6) {
        (0, _) => 8,
        (_, true) => lines,
        _ => least,
    }
}

/// Bytes of tags and slots of so many groups.
const fn bytes<K: Key, V: Record>(groups: usize) -> usize {
    (groups * GROUP).next_multiple_of(LINE) + groups * GROUP * stride::<K, V>()
}

impl Slots {
    /// Whether this form is the one for these types, where [`Words`](super::Words) is not.
    pub const fn suits<K: Key, V: Record>() -> bool {
        K::Wire::FIXED.is_some() && V::Wire::FIXED.is_some() && size::<K, V>() <= MOST
    }

    fn group<K: Key, V: Record>(lead: Lead, group: usize) -> Group {
        let homes = lead.homes() as usize;
        let first_slot = (homes * GROUP).next_multiple_of(LINE);
        Group {
            tags: lead.at() + LINE + group * GROUP,
            slots: lead.at() + LINE + first_slot + group * GROUP * stride::<K, V>(),
        }
    }

    #[inline(always)]
    fn tags(pages: &Pages, at: usize) -> &[u8; GROUP] {
        pages.bytes(at, GROUP).first_chunk().unwrap_or(&[EMPTY; GROUP])
    }

    /// The key where it is in a group: only the first slot with its tag is looked at where `first` says so.
    #[inline(always)]
    fn find_in<K: Key, V: Record>(
        pages: &Pages,
        group: Group,
        probe: Probe<'_>,
        first: bool,
    ) -> Option<Spot> {
        let mut mask = equal(Self::tags(pages, group.tags), probe.tag);
        while mask != 0 {
            let slot = mask.trailing_zeros() as usize;
            let at = group.slots + slot * stride::<K, V>();
            if pages.bytes(at, probe.key.len()) == probe.key {
                return Some(Spot { slot: group.tags + slot, value: at + probe.key.len() });
            }
            if first {
                return None;
            }
            mask &= mask - 1;
        }
        None
    }

    /// The groups in which a key of this hash may be.
    fn groups<K: Key, V: Record>(lead: Lead, hash: u64) -> impl Iterator<Item = Group> {
        let (homes, home) = (lead.homes() as usize, lead.home(hash) as usize - 1);
        (home..homes).chain(0..home).map(move |group| Self::group::<K, V>(lead, group))
    }

    /// Keys that a bucket takes, those that were taken out and are not forgotten included.
    fn limit(homes: u32) -> u32 {
        homes * GROUP as u32 / 16 * 13
    }

    fn put<K: Key, V: Record>(pages: &mut Pages, lead: Lead, hash: u64, parts: [&[u8]; 2]) -> bool {
        let mut header = Header::read(pages, lead.line);
        let free = Self::groups::<K, V>(lead, hash).find_map(|group| {
            let slot = Self::tags(pages, group.tags).iter().position(|tag| *tag <= REMOVED)?;
            Some((group, slot))
        });
        let Some((group, slot)) = free else { return false };
        let reused = pages.bytes(group.tags + slot, 1)[0] == REMOVED;
        if !reused && header.count + header.top >= Self::limit(lead.homes()) {
            return false;
        }
        header.count += 1;
        header.top -= u32::from(reused);
        header.write(pages, lead.line);
        pages.write(group.tags + slot, 1)[0] = tag(hash);
        let [key, value] = parts;
        let out = pages.write(group.slots + slot * stride::<K, V>(), key.len() + value.len());
        out[..key.len()].copy_from_slice(key);
        out[key.len()..].copy_from_slice(value);
        true
    }
}

impl<K: Key, V: Record> Form<K, V> for Slots {
    const KIND: u8 = 5;

    const MOST: usize = MOST;

    const IN_HOME: bool = false;

    type Probe<'a> = Probe<'a>;

    #[inline(always)]
    fn with_probe<R>(hash: u64, key: K::Ref<'_>, f: impl FnOnce(Probe<'_>) -> R) -> R {
        with_encoded::<K, R>(key, |key| f(Probe { tag: tag(hash), key }))
    }

    #[inline(always)]
    fn place(lead: Lead, hash: u64) -> Place {
        let group = Self::group::<K, V>(lead, lead.home(hash) as usize - 1);
        Place { home: (group.tags / GROUP) as u32, behind: (group.slots / LINE) as u32 }
    }

    #[inline(always)]
    fn home_line(place: Place) -> usize {
        place.home as usize / (LINE / GROUP)
    }

    #[inline(always)]
    fn approach(pages: &Pages, place: Place, hash: u64) {
        let mask = equal(Self::tags(pages, place.home as usize * GROUP), tag(hash));
        let slot = mask.trailing_zeros() as usize % GROUP;
        let at = place.behind as usize * LINE + slot * stride::<K, V>();
        for line in at / LINE..(at + size::<K, V>().clamp(1, 4 * LINE) - 1) / LINE + 1 {
            pages.prefetch(line);
        }
        pages.prefetch_mask(at / LINE);
    }

    #[inline(always)]
    fn find_near(pages: &Pages, place: Place, probe: Probe<'_>) -> Option<Spot> {
        let group = Group { tags: place.home as usize * GROUP, slots: place.behind as usize * LINE };
        Self::find_in::<K, V>(pages, group, probe, true)
    }

    fn find(pages: &Pages, lead: Lead, hash: u64, probe: Probe<'_>) -> Option<Spot> {
        for group in Self::groups::<K, V>(lead, hash) {
            let found = Self::find_in::<K, V>(pages, group, probe, false);
            if found.is_some() || equal(Self::tags(pages, group.tags), EMPTY) != 0 {
                return found;
            }
        }
        None
    }

    #[inline(always)]
    fn read(pages: &Pages, spot: Spot) -> V {
        V::own(parsed::<V>(pages.bytes(spot.value, V::Wire::FIXED.unwrap_or(0))).0)
    }

    #[inline(always)]
    fn update(pages: &mut Pages, spot: Spot, value: &V) -> bool {
        encoded_in::<V>(pages, spot.value, V::Wire::FIXED.unwrap_or(0), value);
        true
    }

    fn replace(_: &mut Pages, _: Lead, _: Spot, _: &V) -> bool {
        unreachable!("values of a fixed size are changed in place")
    }

    fn insert(pages: &mut Pages, lead: Lead, hash: u64, probe: Probe<'_>, value: &V) -> bool {
        with_encoded::<V, _>(value.view(), |value| Self::put::<K, V>(pages, lead, hash, [probe.key, value]))
    }

    fn remove(pages: &mut Pages, lead: Lead, spot: Spot) {
        let group = spot.slot / GROUP * GROUP;
        // A group with room never was passed by.
        let full = equal(Self::tags(pages, group), EMPTY) == 0;
        pages.write(spot.slot, 1)[0] = if full { REMOVED } else { EMPTY };
        let mut header = Header::read(pages, lead.line);
        header.count -= 1;
        header.top += u32::from(full);
        header.write(pages, lead.line);
    }

    fn each(bucket: &[u8], mut f: impl FnMut(usize, u64, &[u8])) {
        let Some(header) = bucket.first_chunk().map(Header::parse) else { return };
        let tags = usize::from(header.homes) * GROUP;
        let slots = bucket[LINE + tags.next_multiple_of(LINE)..].chunks_exact(stride::<K, V>());
        for (at, (tag, slot)) in bucket[LINE..][..tags].iter().zip(slots).enumerate() {
            if *tag > REMOVED {
                let (key, _) = parsed::<K>(slot);
                f(LINE + at, K::hash(key), &slot[..size::<K, V>()]);
            }
        }
    }

    fn add(pages: &mut Pages, lead: Lead, hash: u64, entry: &[u8]) -> bool {
        Self::put::<K, V>(pages, lead, hash, [entry, &[]])
    }

    fn shape(entries: usize, _: usize) -> Option<Shape> {
        (0..MAX_LOG2 + 1).find_map(|log2| {
            let room = (PAGE << log2) - LINE;
            let most = room / (GROUP * (1 + stride::<K, V>()));
            let groups = if bytes::<K, V>(most) <= room { most } else { most.saturating_sub(1) };
            // Room for a quarter more.
            let fits = (entries + entries / 4 + 1) as u32 <= Self::limit(groups as u32);
            fits.then_some(Shape { log2, homes: groups as u32, top: 0 })
        })
    }

    fn check(header: &Header, bucket: &[u8]) -> Result<(), &'static str> {
        let homes = usize::from(header.homes);
        if homes == 0 || LINE + bytes::<K, V>(homes) > bucket.len() {
            return Err("a bucket's tags or slots go beyond its end");
        }
        let tags = &bucket[LINE..][..homes * GROUP];
        let slots = &bucket[LINE + tags.len().next_multiple_of(LINE)..];
        for (tag_here, slot) in tags.iter().zip(slots.chunks_exact(stride::<K, V>())) {
            if *tag_here > REMOVED {
                let (key, size) = K::parse(slot).map_err(|_| "a key in a bucket is not well-formed")?;
                V::parse(&slot[size..]).map_err(|_| "a value in a bucket is not well-formed")?;
                if tag(K::hash(key)) != *tag_here {
                    return Err("a slot has another hash than its key");
                }
            }
        }
        let removed = tags.iter().filter(|tag| **tag == REMOVED).count();
        if removed != header.top as usize
            || header.count.saturating_add(header.top) > Self::limit(homes as u32)
        {
            return Err("a bucket has more keys than it takes, or has forgotten some that were taken out");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_wherever_they_are() {
        let mut tags = [0, 1, 2, 255, 128, 127, 2, 3, 0, 254, 129, 2, 1, 1, 0, 2];
        for tag in [0, 1, 2, 3, 127, 128, 129, 254, 255, 77] {
            let by_hand = (0..GROUP).filter(|at| tags[*at] == tag).map(|at| 1 << at).sum();
            assert_eq!(equal(&tags, tag), by_hand, "{tag}");
        }
        tags.fill(9);
        assert_eq!(equal(&tags, 9), 0xffff);
    }

    /// 108 bytes in two lines rather than over three; 72 stay as they are.
    #[test]
    fn slots_are_whole_lines_where_that_takes_little_more() {
        assert_eq!(stride::<u64, ([u8; 32], [u8; 32], [u8; 32], u32)>(), 128);
        assert_eq!(stride::<u64, ([u8; 32], [u8; 32])>(), 72);
        assert_eq!(stride::<u64, [u8; 56]>(), 64);
    }
}
