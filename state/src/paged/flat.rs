//! Buckets out of the bytes of a snapshot, read where key and value are known by their schemas alone.
//!
//! The pages of a key group lie one behind the other in bytes that nobody else reads, so that a key that is kept in another form
//! is brought into its own in place. Whether buckets are where hashes lead to is not asked: every key is looked at.

use super::bucket::{ASIDE, BLANK, Header, WORD};
use super::loading::{fill, survey};
use super::memory::{LINE, PAGE, SEGMENT, SEGMENT_PAGES};
use crate::key_group::KeyGroup;
use crate::keyed::RestoreError;
use crate::rows::Row;
use millstream_io::record::Shape;

type Problem = (usize, &'static str);

const BEYOND: &str = "a key or value goes beyond the end of its bucket";
const MALFORMED: &str = "a key or value in a bucket is not well-formed";

/// The pages of a group that parts have, the oldest first, each without the byte that says what it is.
///
/// # Errors
/// Which of the parts has what wrong with it.
pub(crate) fn assemble(group: KeyGroup, parts: &[&[u8]]) -> Result<Vec<u8>, RestoreError> {
    let masks = survey(parts).map_err(|(_, loading)| loading.refused(group))?;
    let mut bytes = vec![0; masks.len() * SEGMENT];
    fill(&mut bytes, parts);
    Ok(bytes)
}

/// All keys with their values.
///
/// # Errors
/// Where something is not as buckets are, and what.
pub(crate) fn rows(pages: &mut [u8], key: &Shape, value: &Shape) -> Result<Vec<Row>, Problem> {
    let (mut rows, mut page) = (Vec::new(), 0);
    while page * PAGE < pages.len() {
        let at = page * PAGE;
        let header = pages[at..].first_chunk().map(Header::parse).unwrap_or_default();
        if header.kind == 0 {
            page += 1;
            continue;
        }
        let run = 1usize.checked_shl(header.log2.into()).unwrap_or(usize::MAX);
        if run > SEGMENT_PAGES || !page.is_multiple_of(run) {
            return Err((at, "a bucket is longer than can be, or begins where none can"));
        }
        let bucket = Bucket { at, header, homes: usize::from(header.homes) };
        let bytes = &mut pages[at..at + run * PAGE];
        let before = rows.len();
        match (header.kind, key.fixed(), value.fixed()) {
            (1, Some(key_size @ 1..=WORD), Some(value_size)) if value_size <= LINE - ASIDE => {
                bucket.words(bytes, [key_size, value_size], &mut rows);
            }
            (5, Some(key), Some(value)) => bucket.slots(bytes, [key, value], &mut rows)?,
            (2, ..) => bucket.records(bytes, [key, value], &mut rows)?,
            _ => return Err((at, "a bucket is of a form that is not that of its types")),
        }
        if header.kind != 2 {
            for row in &rows[before..] {
                let [of_key, of_value] = row.parts(pages);
                if key.check(of_key) != Ok(of_key.len()) || value.check(of_value) != Ok(of_value.len()) {
                    return Err((at, MALFORMED));
                }
            }
        }
        if rows.len() - before != header.count as usize {
            return Err((at, "a bucket does not have as many keys as it says"));
        }
        page += run;
    }
    Ok(rows)
}

struct Bucket {
    at: usize,
    header: Header,
    homes: usize,
}

impl Bucket {
    /// A slot has the key's word, combined with another one, and the value.
    fn words(&self, bytes: &mut [u8], [key, value]: [usize; 2], rows: &mut Vec<Row>) {
        let slot = (WORD + value).next_power_of_two();
        if self.header.aside {
            // Its word looks like none: it is put where the header had something that is known by now.
            bytes[8..16].copy_from_slice(&BLANK.to_le_bytes());
            rows.push(Row::new(self.at + 8, key, self.at + ASIDE, value));
        }
        for (nth, slot_bytes) in bytes[LINE..].chunks_exact_mut(slot).enumerate() {
            let Some(word) = slot_bytes.first_chunk_mut::<WORD>() else { return };
            let found = u64::from_le_bytes(*word);
            if found != 0 {
                *word = (found ^ BLANK).to_le_bytes();
                let at = self.at + LINE + nth * slot;
                rows.push(Row::new(at, key, at + WORD, value));
            }
        }
    }

    /// Tags, and as many slots behind them, each with a key and its value.
    fn slots(&self, bytes: &[u8], [key, value]: [usize; 2], rows: &mut Vec<Row>) -> Result<(), Problem> {
        const GROUP: usize = 16;
        let (least, lines) = ((key + value).next_multiple_of(8), (key + value).next_multiple_of(LINE));
        let stride = if lines - least <= least / 6 { lines } else { least }.max(8);
        let first = LINE + (self.homes * GROUP).next_multiple_of(LINE);
        if first + self.homes * GROUP * stride > bytes.len() {
            return Err((self.at, BEYOND));
        }
        for (nth, tag) in bytes[LINE..][..self.homes * GROUP].iter().enumerate() {
            if *tag > 1 {
                let at = self.at + first + nth * stride;
                rows.push(Row::new(at, key, at + key, value));
            }
        }
        Ok(())
    }

    /// An index of four bytes for each key, which says where its record is.
    fn records(&self, bytes: &[u8], [key, value]: [&Shape; 2], rows: &mut Vec<Row>) -> Result<(), Problem> {
        let first = (self.homes + 1) * LINE;
        let index = bytes.get(LINE..first).ok_or((self.at, BEYOND))?;
        for slot in index.chunks_exact(4) {
            let slot = u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
            if slot == 0 {
                continue;
            }
            let at = (slot & 0xffff) as usize * 8;
            let record = bytes.get(at..).filter(|_| at >= first).ok_or((self.at, BEYOND))?;
            let malformed = |_| (self.at + at, MALFORMED);
            let key_size = key.check(record).map_err(malformed)?;
            let value_size = value.check(&record[key_size..]).map_err(malformed)?;
            let at = self.at + at;
            rows.push(Row::new(at, key_size, at + key_size, value_size));
        }
        Ok(())
    }
}
