use super::*;
use proptest::prelude::*;

/// The mixing function once more, written from the published description over a byte slice.
fn murmur3_x86_32(bytes: [u8; 4], seed: u32) -> u32 {
    let mut k1 = u32::from_le_bytes(bytes);
    k1 = k1.wrapping_mul(0xcc9e2d51);
    k1 = k1.rotate_left(15);
    k1 = k1.wrapping_mul(0x1b873593);
    let mut h1 = seed ^ k1;
    h1 = h1.rotate_left(13);
    h1 = h1.wrapping_mul(5).wrapping_add(0xe6546b64);
    h1 ^= bytes.len() as u32;
    h1 ^= h1 >> 16;
    h1 = h1.wrapping_mul(0x85ebca6b);
    h1 ^= h1 >> 13;
    h1 = h1.wrapping_mul(0xc2b2ae35);
    h1 ^= h1 >> 16;
    h1
}

fn group_by_the_page(value: i32, max: u32) -> u16 {
    let h = murmur3_x86_32(value.to_le_bytes(), 0) as i32;
    let h = if h >= 0 {
        h
    } else if h != i32::MIN {
        -h
    } else {
        0
    };
    (h % max as i32) as u16
}

fn hash_with_upper(value: i32) -> u64 {
    u64::from(value as u32) << 32
}

#[test]
fn kg_01_groups_of_ruling_16() {
    let groups = Grouping::new(128);
    for (value, group) in [(0, 94), (1, 86), (42, 29), (-1, 80), (i32::MIN, 108)] {
        assert_eq!(groups.group(hash_with_upper(value)), KeyGroup(group), "{value}");
    }
}

#[test]
fn kg_01_the_lower_half_of_a_hash_does_not_count() {
    let groups = Grouping::new(100);
    let hash = 0x1234_5678_9abc_def0_u64;
    assert_eq!(groups.group(hash), groups.group(hash & !0xffff_ffff));
}

#[test]
fn kg_01_ranges_are_disjoint_cover_all_and_agree_with_subtask_of() {
    for max in 1..=512u32 {
        for p in 1..=max {
            let parallelism = Parallelism::new(i64::from(p), Some(i64::from(max))).unwrap();
            let mut next = 0u32;
            let (mut least, mut most) = (usize::MAX, 0);
            for subtask in 0..p as usize {
                let range = parallelism.range_of(subtask);
                assert_eq!(u32::from(range.start().0), next, "max {max}, p {p}, subtask {subtask}");
                for group in range.start().0..=range.end().0 {
                    assert_eq!(
                        parallelism.subtask_of(KeyGroup(group)),
                        subtask,
                        "max {max}, p {p}, group {group}"
                    );
                }
                next = u32::from(range.end().0) + 1;
                least = least.min(range.len());
                most = most.max(range.len());
            }
            assert_eq!(next, max, "max {max}, p {p}");
            assert!(most - least <= 1, "max {max}, p {p}: {least} to {most}");
        }
    }
}

#[test]
fn kg_01_the_router_sends_every_hash_to_the_owner_of_its_group() {
    for max in [1u32, 2, 3, 7, 100, 127, 128, 129, 500, 512, 32767, 32768] {
        for p in [1, 2, 3, max / 2, max].into_iter().filter(|p| (1..=max).contains(p)) {
            let parallelism = Parallelism::new(i64::from(p), Some(i64::from(max))).unwrap();
            let router = parallelism.router();
            for value in (0..1000).map(|i: i32| i.wrapping_mul(0x9e37_79b1_u32 as i32)) {
                let group = group_by_the_page(value, max);
                let owner = (0..p as usize).find(|&i| parallelism.range_of(i).contains(KeyGroup(group)));
                assert_eq!(
                    Some(router.subtask(hash_with_upper(value))),
                    owner,
                    "max {max}, p {p}, value {value}"
                );
            }
            let halves: Vec<u32> =
                (0..1000u32).map(|i| i.wrapping_mul(0x9e37_79b1)).chain([1 << 31]).collect();
            for len in [0, 1, 3, 15, 16, 17, 1001] {
                let mut many = vec![u32::MAX; len];
                router.subtasks(&halves[..len], &mut many);
                let one_by_one =
                    halves[..len].iter().map(|half| router.subtask(u64::from(*half) << 32) as u32);
                assert!(one_by_one.eq(many), "max {max}, p {p}, {len} at once");
            }
        }
    }
}

proptest! {
    #[test]
    fn kg_01_group_is_the_formula_for_every_max(value: i32, max in 1..=MAX_KEY_GROUPS) {
        prop_assert_eq!(Grouping::new(max).group(hash_with_upper(value)).0, group_by_the_page(value, max));
    }
}

#[test]
fn kg_02_groups_of_keys_are_those_of_every_release() {
    use millstream_io::record::Key;
    let groups = Grouping::new(128);
    // From a second implementation of the documented hash, in another language. If one changes, every snapshot ever
    // written is lost.
    let of_word = |key: u64| groups.group(<u64 as Key>::hash(key)).0;
    let of_text = |key: &str| groups.group(<String as Key>::hash(key)).0;
    assert_eq!([0, 1, 42, u64::MAX].map(of_word), GOLDEN_WORDS);
    assert_eq!(["", "a", "millstream", "a key of more than sixteen bytes"].map(of_text), GOLDEN_TEXTS);
}

const GOLDEN_WORDS: [u16; 4] = [94, 119, 24, 126];
const GOLDEN_TEXTS: [u16; 4] = [51, 101, 51, 84];

#[test]
fn kg_03_default_max_parallelism() {
    let cases = [(1, 128), (85, 128), (86, 256), (200, 512), (30000, 32768), (32768, 32768)];
    for (p, max) in cases {
        assert_eq!(default_max_parallelism(p), max, "p = {p}");
        assert_eq!(Parallelism::new(i64::from(p), None).unwrap().max(), max, "p = {p}");
    }
}

#[test]
fn ms_025_refused_with_both_numbers() {
    let refused = |p, max| Parallelism::new(p, max).unwrap_err();
    assert_eq!(
        refused(129, Some(128)),
        ParallelismError::AboveMax { parallelism: 129, max_parallelism: 128 }
    );
    let text = refused(129, Some(128)).to_string();
    assert!(text.contains("129") && text.contains("128"), "{text}");
    for p in [0, -1, i64::MIN] {
        let expected = ParallelismError::Parallelism { parallelism: p, max_parallelism: Some(128) };
        assert_eq!(refused(p, Some(128)), expected);
        let text = expected.to_string();
        assert!(text.contains(&p.to_string()) && text.contains("128"), "{text}");
    }
    for max in [0, -1, 32769, i64::MAX] {
        assert_eq!(refused(1, Some(max)), ParallelismError::MaxParallelism(max));
    }
    assert_eq!(
        refused(32769, None),
        ParallelismError::AboveMax { parallelism: 32769, max_parallelism: 32768 }
    );
}
