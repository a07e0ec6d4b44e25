//! Index ranges as splits: how a counted input is shared, and shared anew after a restore.

/// Indices that are still to be emitted: from the first up to, and without, the second.
pub(super) type Range = (u64, u64);

/// Part `part` of `parts` of all indices in `ranges`: equal to within one index, whatever ranges they come in.
///
/// A pure function of the whole list, so that subtasks that see the same list take parts that fit together.
pub(super) fn cut(mut ranges: Vec<Range>, part: usize, parts: usize) -> Vec<Range> {
    ranges.retain(|(start, end)| start < end);
    ranges.sort_unstable();
    let total: u128 = ranges.iter().map(|(start, end)| u128::from(end - start)).sum();
    let border = |i: usize| total * i as u128 / parts as u128;
    let (from, to) = (border(part), border(part + 1));
    let mut before = 0u128;
    let mut mine: Vec<Range> = Vec::new();
    for (start, end) in ranges {
        let len = u128::from(end - start);
        let (low, high) = (from.max(before), to.min(before + len));
        if low < high {
            let range = (start + (low - before) as u64, start + (high - before) as u64);
            match mine.last_mut() {
                Some(last) if last.1 == range.0 => last.1 = range.1,
                _ => mine.push(range),
            }
        }
        before += len;
    }
    mine
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_indices_make_parts_of_three_three_and_four() {
        let parts: Vec<_> = (0..3).map(|part| cut(vec![(0, 10)], part, 3)).collect();
        assert_eq!(parts, [vec![(0, 3)], vec![(3, 6)], vec![(6, 10)]]);
    }

    #[test]
    fn adjacent_ranges_are_joined_and_empty_ones_dropped() {
        assert_eq!(cut(vec![(5, 9), (2, 5), (7, 7), (20, 21)], 0, 1), [(2, 9), (20, 21)]);
        assert_eq!(cut(vec![], 0, 2), []);
    }

    proptest! {
        #[test]
        fn st06_parts_of_a_union_cover_it_once_and_differ_by_at_most_one(
            gaps in prop::collection::vec((0u64..5, 0u64..20), 0..8), parts in 1usize..7,
        ) {
            let mut at = 0;
            let ranges: Vec<Range> = gaps
                .iter()
                .map(|(gap, len)| {
                    let start = at + gap;
                    at = start + len;
                    (start, at)
                })
                .collect();
            let indices = |ranges: &[Range]| ranges.iter().flat_map(|(a, b)| *a..*b).collect::<Vec<_>>();
            let cuts: Vec<_> = (0..parts).map(|part| indices(&cut(ranges.clone(), part, parts))).collect();
            let least = cuts.iter().map(Vec::len).min().unwrap_or(0);
            let most = cuts.iter().map(Vec::len).max().unwrap_or(0);
            prop_assert!(most - least <= 1, "{least}..{most}");
            prop_assert_eq!(cuts.concat(), indices(&ranges));
        }
    }
}
