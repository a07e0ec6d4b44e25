//! Whether pages that come from a file are a table (MS-073): every bucket is looked at once, before any is used.

use super::super::bucket::{Form, Header, Lead, MAX_DEPTH};
use super::super::memory::{LINE, PAGE, SEGMENT_PAGES};
use super::super::pages::Pages;
use super::Table;
use crate::key_group::{Grouping, KeyGroup};
use millstream_io::executor::Executor;
use millstream_io::record::{Key, Record};

/// What is wrong.
type Problem = &'static str;

/// What is found in a group.
#[derive(Default)]
struct Found {
    /// Its buckets: where each begins, and what its header says.
    buckets: Vec<(usize, Header)>,
    /// Pages that no bucket has.
    free: Vec<usize>,
    keys: u64,
}

impl<K: Key, V: Record + Default, F: Form<K, V>> Table<K, V, F> {
    /// Makes the directories of groups that were loaded, once all of them were, each of which should have so many keys.
    ///
    /// # Errors
    /// What is wrong with the pages of which group.
    pub fn settle(
        &mut self,
        groups: &[(KeyGroup, u64)],
        executor: &dyn Executor,
    ) -> Result<(), (KeyGroup, Problem)> {
        let (start, pages, grouping) = (self.range.start().0, &self.pages, self.grouper.grouping());
        let index = |group: KeyGroup| usize::from(group.0 - start);
        let found = executor.map(groups.len(), |nth| {
            let (group, keys) = groups[nth];
            look::<K, V, F>(pages, grouping, group, index(group), keys)
        });
        for ((group, _), found) in groups.iter().zip(found) {
            let index = index(*group);
            let found = found.map_err(|problem| (*group, problem))?;
            for (page, header) in found.buckets {
                self.directory.set(index, header.prefix, Lead::new(page, header));
                self.pages.set_used(page, header.log2.into());
            }
            found.free.into_iter().for_each(|page| self.pages.set_free(page));
            self.len += found.keys as usize;
            self.counts[index] = found.keys;
        }
        Ok(())
    }
}

/// Looks at all pages of a group, which should have so many keys.
fn look<K: Key, V: Record, F: Form<K, V>>(
    pages: &Pages,
    grouping: Grouping,
    group: KeyGroup,
    index: usize,
    keys: u64,
) -> Result<Found, Problem> {
    let mut found = Found::default();
    let mut local = 0;
    while local < pages.len_of(index) {
        let page = pages.page_of(index, local);
        let header = Header::read(pages, (page * PAGE / LINE) as u32);
        if header.kind == 0 {
            found.free.push(page);
            local += 1;
            continue;
        }
        let run = 1usize.checked_shl(header.log2.into()).unwrap_or(usize::MAX);
        let fits = run <= SEGMENT_PAGES && local % run == 0;
        if header.kind != F::KIND || !fits || u32::from(header.depth) > MAX_DEPTH {
            return Err("the header of a bucket makes no sense");
        }
        F::check(&header, pages.bytes(page * PAGE, header.bytes()))?;
        check_keys::<K, V, F>(pages, grouping, group, page, &header)?;
        found.keys += u64::from(header.count);
        found.buckets.push((page, header));
        local += run;
    }
    check_prefixes(&found.buckets)?;
    if found.keys != keys {
        return Err("the buckets do not have as many keys as they should");
    }
    Ok(found)
}

/// Looks at where keys are: each is where it is looked for, so no two are the same.
fn check_keys<K: Key, V: Record, F: Form<K, V>>(
    pages: &Pages,
    grouping: Grouping,
    group: KeyGroup,
    page: usize,
    header: &Header,
) -> Result<(), Problem> {
    let lead = Lead::new(page, *header);
    let depth = u32::from(header.depth);
    let (mut count, mut problem) = (0, Ok(()));
    F::each(pages.bytes(page * PAGE, header.bytes()), |slot, hash, entry| {
        count += 1;
        let same_prefix = (hash ^ header.prefix).checked_shr(u64::BITS - depth).unwrap_or(0) == 0;
        if !same_prefix || grouping.group(hash) != group {
            problem = Err("a key is in a bucket that is not its own");
        }
        let spot =
            F::with_key(entry, |key| F::with_probe(hash, key, |probe| F::find(pages, lead, hash, probe)));
        if spot.is_none_or(|spot| spot.slot != lead.at() + slot) {
            problem = Err("a key is not where it should be, or twice");
        }
    });
    if count != header.count {
        return Err("a bucket does not have as many keys as it says");
    }
    problem
}

/// Looks at whether buckets have each hash once.
fn check_prefixes(buckets: &[(usize, Header)]) -> Result<(), Problem> {
    let mut parts = Vec::with_capacity(buckets.len());
    for (_, header) in buckets {
        let width = 1 << (MAX_DEPTH - u32::from(header.depth));
        let first = header.prefix >> (u64::BITS - MAX_DEPTH);
        if header.prefix << MAX_DEPTH != 0 || !first.is_multiple_of(width) {
            return Err("a bucket has a prefix that is longer than it says");
        }
        parts.push((first, width));
    }
    parts.sort_unstable();
    let end = parts.iter().try_fold(0, |end, (first, width)| (*first == end).then_some(end + width));
    if end == Some(1 << MAX_DEPTH) { Ok(()) } else { Err("the buckets do not take each hash once") }
}
