//! Word keys with small values of a fixed size: key and value in one slot, a home a line of slots.
//!
//! A slot is the key's word, combined with a word that is rarely a key so that an empty slot is zero, and the value. Slots
//! are probed in turn from the first one of the home, round about; none before a key is empty. The one key that looks
//! like an empty slot is in the header.

use super::header::ASIDE;
use super::{Form, Header, Lead, MAX_LOG2, Place, Shape, Spot, parsed};
use crate::paged::memory::{LINE, PAGE};
use crate::paged::pages::Pages;
use millstream_io::record::{Key, KeyWire, Record, Wire, hash_word};

/// What a key's word is combined with.
pub(in crate::paged) const BLANK: u64 = 0xe6d1_57a3_90bc_482f;

/// Bytes of the word.
pub(in crate::paged) const WORD: usize = 8;

/// The largest value.
const MOST: usize = 24;

/// See the module page.
#[derive(Debug)]
pub(in crate::paged) struct Words;

/// Bytes of a value; 0 where this form is not used.
#[inline(always)]
const fn value_size<V: Record>() -> usize {
    match V::Wire::FIXED {
        Some(size) if size <= MOST => size,
        _ => 0,
    }
}

/// Bytes of a slot.
#[inline(always)]
const fn slot_size<V: Record>() -> usize {
    (WORD + value_size::<V>()).next_power_of_two()
}

/// Slots of a line.
const fn per_line<V: Record>() -> usize {
    LINE / slot_size::<V>()
}

impl Words {
    /// Whether this form is the one for these types.
    pub const fn suits<K: Key, V: Record>() -> bool {
        <K::Wire as KeyWire>::WORD && matches!(V::Wire::FIXED, Some(size) if size <= MOST)
    }

    /// Slots of a bucket.
    fn slots<V: Record>(homes: u32) -> usize {
        homes as usize * per_line::<V>()
    }

    /// Where a slot is.
    fn at<V: Record>(lead: Lead, slot: usize) -> usize {
        lead.at() + LINE + slot * slot_size::<V>()
    }

    fn word(pages: &Pages, at: usize) -> u64 {
        word_of(pages.bytes(at, WORD))
    }

    /// The key's slot, or the empty one where it would be.
    fn search<V: Record>(pages: &Pages, lead: Lead, hash: u64, word: u64) -> Result<usize, usize> {
        let slots = Self::slots::<V>(lead.homes());
        let mut slot = (lead.home(hash) as usize - 1) * per_line::<V>();
        loop {
            match Self::word(pages, Self::at::<V>(lead, slot)) {
                found if found == word => return Ok(slot),
                0 => return Err(slot),
                _ => slot = if slot + 1 == slots { 0 } else { slot + 1 },
            }
        }
    }

    /// Keys that a bucket takes: half of its slots. Where it is fuller, many keys are not in their home, and each of these costs
    /// a branch that is guessed wrong and a line that nobody asked for (measured: five million keys in buckets 0.6 full took
    /// 26 ns each, 0.3 full 19 ns).
    fn limit<V: Record>(homes: u32) -> usize {
        Self::slots::<V>(homes) / 2
    }

    /// Puts a slot's bytes where they belong.
    fn put<V: Record>(pages: &mut Pages, lead: Lead, hash: u64, word: u64, value: &[u8]) -> bool {
        let mut header = Header::read(pages, lead.line);
        if word == 0 {
            header.aside = true;
            header.count += 1;
            header.write(pages, lead.line);
            pages.write(lead.at() + ASIDE, value.len().max(1))[..value.len()].copy_from_slice(value);
            return true;
        }
        if header.count as usize >= Self::limit::<V>(lead.homes()) {
            return false;
        }
        let (Ok(slot) | Err(slot)) = Self::search::<V>(pages, lead, hash, word);
        let at = Self::at::<V>(lead, slot);
        let out = pages.write(at, slot_size::<V>());
        out[..WORD].copy_from_slice(&word.to_le_bytes());
        out[WORD..WORD + value.len()].copy_from_slice(value);
        header.count += 1;
        header.write(pages, lead.line);
        true
    }
}

#[inline(always)]
fn word_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// The encoding of a value: so many of the bytes.
#[inline(always)]
fn encoded<V: Record>(value: &V) -> [u8; MOST] {
    let mut bytes = [0; MOST];
    V::encode_to(value.view(), &mut bytes[..value_size::<V>()]);
    bytes
}

/// The value of bytes that were encoded here, or checked.
#[inline(always)]
fn decoded<V: Record>(bytes: &[u8]) -> V {
    match V::parse(bytes) {
        Ok((view, _)) => V::own(view),
        Err(error) => panic!("a value in the table is well-formed: {error}"),
    }
}

impl<K: Key, V: Record> Form<K, V> for Words {
    const KIND: u8 = 1;

    const MOST: usize = usize::MAX;

    const IN_HOME: bool = true;

    type Probe<'a> = u64;

    #[inline(always)]
    fn with_probe<R>(_: u64, key: K::Ref<'_>, f: impl FnOnce(u64) -> R) -> R {
        f(<K::Wire as KeyWire>::word(K::to_wire(key)) ^ BLANK)
    }

    #[inline(always)]
    fn place(lead: Lead, hash: u64) -> Place {
        Place { home: lead.line + lead.home(hash), behind: 0 }
    }

    #[inline(always)]
    fn home_line(place: Place) -> usize {
        place.home as usize
    }

    #[inline(always)]
    fn approach(_: &Pages, _: Place, _: u64) {}

    #[inline(always)]
    fn find_near(pages: &Pages, place: Place, word: u64) -> Option<Spot> {
        let line = pages.line(place.home as usize);
        let resembles = |slot: usize| usize::from(word_of(&line[slot * slot_size::<V>()..]) == word);
        // The first unless seen elsewhere; a sum, since a choice may become a branch that is guessed wrong.
        let slot = (1..per_line::<V>()).fold(0, |at, slot| at + slot * resembles(slot)) % per_line::<V>();
        // Put together from parts that have no bits in common: that the line is the home need not be found out again.
        let at = (place.home as usize * LINE) | (slot * slot_size::<V>());
        (resembles(slot) == 1 && word != 0).then_some(Spot { slot: at, value: at | WORD })
    }

    fn find(pages: &Pages, lead: Lead, hash: u64, word: u64) -> Option<Spot> {
        if word == 0 {
            let aside = !lead.is_nothing() && Header::read(pages, lead.line).aside;
            return aside.then_some(Spot { slot: lead.at(), value: lead.at() + ASIDE });
        }
        let at = Self::at::<V>(lead, Self::search::<V>(pages, lead, hash, word).ok()?);
        Some(Spot { slot: at, value: at + WORD })
    }

    #[inline(always)]
    fn read(pages: &Pages, spot: Spot) -> V {
        let line = pages.line(spot.value / LINE);
        decoded(&line[spot.value % LINE..][..value_size::<V>()])
    }

    #[inline(always)]
    fn update(pages: &mut Pages, spot: Spot, value: &V) -> bool {
        pages.replace_in_line(spot.value, &encoded(value)[..value_size::<V>()]);
        true
    }

    fn replace(_: &mut Pages, _: Lead, _: Spot, _: &V) -> bool {
        unreachable!("values of a fixed size are changed in place")
    }

    fn insert(pages: &mut Pages, lead: Lead, hash: u64, word: u64, value: &V) -> bool {
        Self::put::<V>(pages, lead, hash, word, &encoded(value)[..value_size::<V>()])
    }

    fn remove(pages: &mut Pages, lead: Lead, spot: Spot) {
        let mut header = Header::read(pages, lead.line);
        header.count -= 1;
        let aside = spot.slot == lead.at();
        header.aside &= !aside;
        header.write(pages, lead.line);
        if aside {
            return;
        }
        let (slots, size) = (Self::slots::<V>(lead.homes()), slot_size::<V>());
        let mut hole = (spot.slot - Self::at::<V>(lead, 0)) / size;
        let mut slot = hole;
        loop {
            slot = (slot + 1) % slots;
            let word = Self::word(pages, Self::at::<V>(lead, slot));
            if word == 0 {
                break;
            }
            let home = (lead.home(hash_word(word ^ BLANK)) as usize - 1) * per_line::<V>();
            let distance = |from: usize| (slot + slots - from) % slots;
            if distance(home) >= distance(hole) {
                let mut moved = [0; WORD + MOST];
                moved[..size].copy_from_slice(pages.bytes(Self::at::<V>(lead, slot), size));
                pages.write(Self::at::<V>(lead, hole), size).copy_from_slice(&moved[..size]);
                hole = slot;
            }
        }
        pages.write(Self::at::<V>(lead, hole), size).fill(0);
    }

    fn each(bucket: &[u8], mut f: impl FnMut(usize, u64, &[u8])) {
        let Some(header) = bucket.first_chunk().map(Header::parse) else { return };
        let size = WORD + value_size::<V>();
        if header.aside {
            let mut entry = [0; WORD + MOST];
            entry[WORD..size].copy_from_slice(&bucket[ASIDE..ASIDE + value_size::<V>()]);
            f(0, hash_word(BLANK), &entry[..size]);
        }
        for (at, slot) in bucket[LINE..].chunks_exact(slot_size::<V>()).enumerate() {
            let word = word_of(slot);
            if word != 0 {
                f(LINE + at * slot_size::<V>(), hash_word(word ^ BLANK), &slot[..size]);
            }
        }
    }

    fn add(pages: &mut Pages, lead: Lead, hash: u64, entry: &[u8]) -> bool {
        let (word, value) = entry.split_at(WORD);
        Self::put::<V>(pages, lead, hash, word_of(word), value)
    }

    fn shape(entries: usize, _: usize) -> Option<Shape> {
        let shape = |log2: u32| Shape { log2, homes: ((PAGE << log2) / LINE - 1) as u32, top: 0 };
        // A third full or emptier: the next growth is a while off.
        (0..MAX_LOG2 + 1).map(shape).find(|shape| Self::slots::<V>(shape.homes) / 3 >= entries)
    }

    fn check(header: &Header, bucket: &[u8]) -> Result<(), &'static str> {
        if usize::from(header.homes) + 1 != header.lines() {
            return Err("a bucket's homes are not as many as its lines");
        }
        let mut problem = Ok(());
        let mut count = 0;
        <Self as Form<K, V>>::each(bucket, |_, _, entry| {
            count += 1;
            let word = (word_of(entry) ^ BLANK).to_le_bytes();
            let size = K::Wire::FIXED.unwrap_or(WORD).min(WORD);
            if K::parse(&word[..size]).is_err() || word[size..].iter().any(|byte| *byte != 0) {
                problem = Err("a key in a bucket is not well-formed");
            } else if V::parse(&entry[WORD..]).is_err() {
                problem = Err("a value in a bucket is not well-formed");
            }
        });
        // Fuller than it becomes here does no harm, as long as every search comes to an end.
        if count - usize::from(header.aside) >= Self::slots::<V>(header.homes.into()) {
            return Err("a bucket has no slot that is empty");
        }
        problem
    }

    fn with_key<R>(entry: &[u8], f: impl FnOnce(K::Ref<'_>) -> R) -> R {
        let word = (word_of(entry) ^ BLANK).to_le_bytes();
        f(parsed::<K>(&word[..K::Wire::FIXED.unwrap_or(WORD).min(WORD)]).0)
    }

    fn with_entry<R>(entry: &[u8], f: impl FnOnce(K::Ref<'_>, V) -> R) -> R {
        <Self as Form<K, V>>::with_key(entry, |key| f(key, decoded(&entry[WORD..])))
    }
}
