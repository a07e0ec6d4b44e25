//! Merging two neighbouring parts of one key group into one that is worth as much as both. Pure.
//!
//! Lines of the newer part win. The entries of the result are ordered by page, each line comes once, and each page's lines
//! take the form that is shortest.

use crate::paged::PAGES;
use crate::paged::image::{LINE_BYTES, entries, put_head};
use thiserror::Error;

/// So many lines of a page are shorter one by one than behind a mask.
const ALONE: u32 = 4;

/// Why two parts cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the {} part, at byte {at}: {problem}", if *.newer { "newer" } else { "older" })]
pub struct MergeError {
    /// Which part is at fault.
    pub newer: bool,
    /// Where in it.
    pub at: usize,
    /// What is wrong.
    pub problem: &'static str,
}

/// An entry of one of the parts.
struct Lines<'a> {
    page: u32,
    newer: bool,
    mask: u64,
    content: &'a [u8],
}

/// Merges two parts of a key group, each as it is in a file: the form, then entries. Beside the result it takes no more
/// memory than the parts have bytes, whatever these are.
///
/// # Errors
/// Bytes that are not lines of pages, or that have a line twice.
pub fn merge(older: &[u8], newer: &[u8]) -> Result<Vec<u8>, MergeError> {
    let mut all = Vec::new();
    collect(older, false, &mut all)?;
    collect(newer, true, &mut all)?;
    all.sort_unstable_by_key(|lines| (lines.page, !lines.newer));
    let mut out = Vec::with_capacity(older.len() + newer.len());
    out.push(PAGES);
    let mut last = 0;
    let mut content = [&[][..]; u64::BITS as usize];
    for page in all.chunk_by(|a, b| a.page == b.page) {
        let (newest, oldest) = page.split_at(page.partition_point(|lines| lines.newer));
        let mut known = 0;
        for part in [newest, oldest] {
            let (above, mut own) = (known, 0);
            for lines in part {
                if own & lines.mask != 0 {
                    let bytes = if lines.newer { newer } else { older };
                    let at = lines.content.as_ptr().addr() - bytes.as_ptr().addr();
                    return Err(MergeError { newer: lines.newer, at, problem: "a line comes twice" });
                }
                own |= lines.mask;
                place(lines, above, &mut content);
            }
            known |= own;
        }
        put(page[0].page, known, &content, &mut last, &mut out);
    }
    Ok(out)
}

fn collect<'a>(bytes: &'a [u8], newer: bool, all: &mut Vec<Lines<'a>>) -> Result<(), MergeError> {
    let Some((&PAGES, lines)) = bytes.split_first() else {
        return Err(MergeError { newer, at: 0, problem: "it does not begin as lines of pages do" });
    };
    // Entries of a few bytes, of which nothing comes, are to take no memory.
    let some = |entry: &Result<(_, u64, _), _>| matches!(entry, Ok((_, mask, _)) if *mask != 0);
    all.reserve_exact(entries(lines).filter(some).count());
    for entry in entries(lines) {
        let (page, mask, content) =
            entry.map_err(|(at, problem)| MergeError { newer, at: at + 1, problem })?;
        if mask != 0 {
            all.push(Lines { page, newer, mask, content });
        }
    }
    Ok(())
}

/// Notes where the lines of an entry are, but for those that are known already.
fn place<'a>(lines: &Lines<'a>, known: u64, content: &mut [&'a [u8]; u64::BITS as usize]) {
    let mut mask = lines.mask;
    for line in lines.content.chunks_exact(LINE_BYTES) {
        let bit = mask.trailing_zeros();
        mask &= mask - 1;
        if known >> bit & 1 == 0 {
            content[bit as usize] = line;
        }
    }
}

/// Adds the lines of a page.
fn put(page: u32, mut mask: u64, content: &[&[u8]; u64::BITS as usize], last: &mut u32, out: &mut Vec<u8>) {
    let alone = mask.count_ones() <= ALONE;
    if !alone {
        put_head(page, mask, last, out);
    }
    while mask != 0 {
        let bit = mask.trailing_zeros();
        mask &= mask - 1;
        if alone {
            put_head(page, 1 << bit, last, out);
        }
        out.extend_from_slice(content[bit as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Model = BTreeMap<(u32, u32), [u8; LINE_BYTES]>;

    /// An entry by hand: page, its difference to the one before as it is written, lines.
    fn entry(step: &[u8], form: &[u8], content: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(step);
        out.extend_from_slice(form);
        content.iter().for_each(|byte| out.extend_from_slice(&[*byte; LINE_BYTES]));
    }

    /// Pages 1 and 300, of two parts that have two lines of page 1 in common.
    #[test]
    fn the_newer_line_wins_and_pages_are_in_order() {
        let (mut older, mut newer, mut both) = (vec![1], vec![1], vec![1]);
        entry(&[0xd8, 4], &[9], &[1], &mut older);
        entry(&[0xd5, 4], &[64, 0b11110, 0, 0, 0, 0, 0, 0, 0], &[2, 3, 4, 5], &mut older);
        entry(&[2], &[3], &[6], &mut newer);
        entry(&[0], &[64, 0b10001, 0, 0, 0, 0, 0, 0, 0], &[7, 8], &mut newer);
        entry(&[2], &[64, 0b11111, 0, 0, 0, 0, 0, 0, 0], &[7, 2, 3, 6, 8], &mut both);
        entry(&[0xd6, 4], &[9], &[1], &mut both);
        assert_eq!(merge(&older, &newer), Ok(both));
    }

    #[test]
    fn few_lines_of_a_page_come_one_by_one() {
        let (mut older, mut newer, mut both) = (vec![1], vec![1], vec![1]);
        entry(&[4], &[64, 0b1011, 0, 0, 0, 0, 0, 0, 0], &[1, 2, 3], &mut older);
        entry(&[4], &[63], &[4], &mut newer);
        for (step, line, content) in [(4, 0, 1), (0, 1, 2), (0, 3, 3), (0, 63, 4)] {
            entry(&[step], &[line], &[content], &mut both);
        }
        assert_eq!(merge(&older, &newer), Ok(both));
    }

    #[test]
    fn what_cannot_be_merged_is_told_apart() {
        let error = |newer, at, problem| Err(MergeError { newer, at, problem });
        let form = "it does not begin as lines of pages do";
        assert_eq!(merge(&[1], &[1]), Ok(vec![1]));
        assert_eq!(merge(&[], &[1]), error(false, 0, form));
        assert_eq!(merge(&[1], &[0, 7]), error(true, 0, form));
        assert_eq!(
            merge(&[1], &[1, 0, 66]),
            error(true, 1, "the lines of a page come in a form that is not known")
        );
        assert_eq!(merge(&[1, 0, 65, 3], &[1]), error(false, 1, "an entry of a page goes beyond the end"));
        let mut twice = vec![1];
        entry(&[4], &[9], &[1], &mut twice);
        entry(&[0], &[9], &[1], &mut twice);
        assert_eq!(merge(&[1], &twice), error(true, 1 + 66 + 2, "a line comes twice"));
        assert_eq!(merge(&twice, &[1]), error(false, 1 + 66 + 2, "a line comes twice"));
        let lines = merge(&[1], &twice[..67]).map(|bytes| bytes.len());
        assert_eq!(lines, Ok(67));
    }

    /// Entries of a page without lines cost two bytes each.
    #[test]
    fn entries_without_lines_are_nothing() {
        let empty = [0, 64, 0, 0, 0, 0, 0, 0, 0, 0].repeat(1000);
        assert_eq!(merge(&[&[1], &empty[..]].concat(), &[1]), Ok(vec![1]));
    }

    /// Some pages, the lines of each in one entry or several, and in the order in which they are drawn.
    fn part() -> impl Strategy<Value = Vec<(u32, Vec<u32>)>> {
        let page = prop_oneof![0..6u32, 60..70u32, Just(u32::MAX)];
        let some = btree_set(0..64u32, 1..8);
        let lines = prop_oneof![4 => some, 1 => Just((0..64).collect())];
        let entries = vec((page, lines), 0..12);
        entries.prop_map(|entries| {
            let mut seen = std::collections::BTreeSet::new();
            let fresh = |(page, lines): (u32, std::collections::BTreeSet<u32>)| {
                (page, lines.into_iter().filter(|line| seen.insert((page, *line))).collect::<Vec<_>>())
            };
            entries.into_iter().map(fresh).filter(|(_, lines)| !lines.is_empty()).collect()
        })
    }

    /// Its bytes; adds its lines to the model.
    fn write(part: &[(u32, Vec<u32>)], stamp: u8, model: &mut Model) -> Vec<u8> {
        let (mut out, mut last) = (vec![1], 0);
        for (page, lines) in part {
            put_head(*page, lines.iter().map(|line| 1u64 << line).sum(), &mut last, &mut out);
            for line in lines {
                let content = [stamp ^ (*line as u8) ^ (*page as u8) << 3; LINE_BYTES];
                out.extend_from_slice(&content);
                model.insert((*page, *line), content);
            }
        }
        out
    }

    /// Its lines; checks that they are in order.
    fn read(bytes: &[u8]) -> Model {
        let mut model = Model::new();
        for entry in entries(&bytes[1..]) {
            let (page, mut mask, content) = entry.unwrap();
            for line in content.chunks(LINE_BYTES) {
                let place = (page, mask.trailing_zeros());
                mask &= mask - 1;
                assert!(model.last_key_value().is_none_or(|(last, _)| *last < place), "{place:?}");
                model.insert(place, line.try_into().unwrap());
            }
        }
        model
    }

    /// Bytes that the lines of a model take in the shortest form, each page counted from the one before.
    fn shortest(model: &Model) -> usize {
        let mut pages = BTreeMap::<u32, usize>::new();
        model.keys().for_each(|(page, _)| *pages.entry(*page).or_default() += 1);
        let (mut sum, mut last) = (1, 0u32);
        for (page, lines) in pages {
            let step = (i64::from(page.wrapping_sub(last).cast_signed())) * 2;
            let step = if step < 0 { -step - 1 } else { step };
            let varint = (64 - (step as u64 | 1).leading_zeros() as usize).div_ceil(7);
            let forms =
                [(lines == 64).then_some(varint + 1), Some(varint + 9), Some(varint + 1 + (lines - 1) * 2)];
            sum += lines * LINE_BYTES + forms.into_iter().flatten().min().unwrap();
            last = page;
        }
        sum
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn merging_is_writing_one_after_the_other(parts in vec(part(), 2..5)) {
            let mut model = Model::new();
            let mut bytes: Vec<_> = (0..).zip(&parts).map(|(n, part)| write(part, n << 6, &mut model)).collect();
            // In whatever order neighbours are merged.
            let from_the_newest = bytes.iter().rev().cloned().reduce(|newer, older| merge(&older, &newer).unwrap());
            let first = bytes.remove(0);
            let merged = bytes.iter().fold(first, |older, newer| merge(&older, newer).unwrap());
            prop_assert_eq!(read(&merged), model.clone());
            prop_assert_eq!(merged.len(), shortest(&model));
            prop_assert_eq!(from_the_newest, Some(merged));
        }

        #[test]
        fn damage_is_an_error_or_other_lines(parts in [part(), part()], at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = parts.map(|part| write(&part, 0, &mut Model::new()));
            let sum = bytes[0].len() + bytes[1].len();
            let at = at.index(sum);
            let len = bytes[0].len();
            let damaged = if at < len { &mut bytes[0][at] } else { &mut bytes[1][at - len] };
            *damaged = byte;
            if let Ok(merged) = merge(&bytes[0], &bytes[1]) {
                prop_assert!(merged.len() <= sum + 4 * 24);
            }
        }

        #[test]
        fn any_bytes_are_merged_or_refused(older: Vec<u8>, newer: Vec<u8>) {
            let form = |bytes: Vec<u8>| [&[1][..], &bytes].concat();
            let _ = (merge(&older, &newer), merge(&form(older), &form(newer)));
        }
    }
}
