//! The shape of trees: how deep, how full, which pages, and how few lines change.

use super::*;
use crate::paged::memory::{LINE, PAGE};
use millstream_io::executor::InlineExecutor;
use proptest::prelude::*;

fn tree() -> Tree {
    Tree::new(2, &Supply::default()).unwrap()
}

fn put(tree: &mut Tree, keys: impl Iterator<Item = u64>) {
    for n in keys {
        tree.put(1, &n.to_be_bytes(), &n.to_le_bytes()).unwrap();
    }
}

/// Numbers below a power of two, each once, in no order.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |n| n.wrapping_mul(0x9e37_79b9) % count)
}

fn root(tree: &Tree) -> node::Header {
    tree.node(1, 0).header
}

/// Nodes and runs of the group.
fn in_use(tree: &Tree) -> usize {
    let (mut local, mut count) = (0, 0);
    while local < tree.pages.len_of(1) {
        let page = tree.pages.page(tree.pages.page_of(1, local));
        local += if page[0] == run::RUN { 1 << page[1] } else { 1 };
        count += usize::from(page[0] != 0);
    }
    count
}

/// The lines that changed since the last time, in bytes.
fn changes(tree: &mut Tree) -> usize {
    tree.pages.freeze();
    assert!(tree.pages.drain(usize::MAX));
    let image: Vec<_> = tree.pages.take_image().collect();
    let lines = image.iter().flat_map(|(_, bytes)| crate::paged::image::entries(&bytes[1..]));
    lines.map(|entry| entry.unwrap().1.count_ones() as usize * LINE).sum()
}

#[test]
fn a_tree_grows_by_levels_and_shrinks_to_nothing_in_any_order() {
    const KEYS: u64 = 4096;
    for order in 0..3 {
        let mut tree = tree();
        put(&mut tree, shuffled(KEYS));
        // At least half of 512 bytes, in entries of 22, and 15 or so of them a node above.
        assert!((2..5).contains(&root(&tree).level), "{:?}", root(&tree));
        let pages = tree.pages.len_of(1);
        for n in shuffled(KEYS) {
            let key = [n, KEYS - 1 - n, n * 2 % KEYS + n / (KEYS / 2)][order];
            assert!(tree.remove(1, &key.to_be_bytes()), "{key}");
        }
        assert_eq!((tree.len(), root(&tree).level, in_use(&tree)), (0, 0, 1), "an empty root");
        put(&mut tree, shuffled(KEYS));
        assert_eq!(tree.pages.len_of(1), pages, "pages that were given back are used");
    }
}

#[test]
fn keys_that_come_in_order_leave_full_pages() {
    let mut tree = tree();
    put(&mut tree, 0..4000);
    // An entry and its slot are 2 + 4 + 8 + 8 bytes; 22 fit beside a header of 16 in 512 bytes.
    let leaves = 4000usize.div_ceil(22);
    assert!((leaves..leaves + leaves / 8).contains(&in_use(&tree)), "{} of {leaves}", in_use(&tree));
}

#[test]
fn a_list_in_the_middle_leaves_full_pages() {
    let mut tree = tree();
    put(&mut tree, (0..1000).map(|n| n << 32));
    let before = in_use(&tree);
    put(&mut tree, (1..4000).map(|n| 500 << 32 | n));
    let leaves = 4000usize.div_ceil(22);
    assert!(in_use(&tree) - before < leaves + leaves / 8, "{} of {leaves}", in_use(&tree) - before);
}

/// What one change costs in a snapshot: the header with the slots near it, slots elsewhere, and the entry.
#[test]
fn a_change_makes_few_lines_dirty() {
    let mut tree = tree();
    put(&mut tree, 0..1000);
    changes(&mut tree);
    put(&mut tree, 1000..1001);
    assert!(changes(&mut tree) <= 3 * LINE, "an entry at the end");
    tree.remove(1, &0u64.to_be_bytes());
    assert_eq!(changes(&mut tree), LINE, "the first entry taken out: the header");
    tree.put(1, &500u64.to_be_bytes(), &7u64.to_le_bytes()).unwrap();
    assert_eq!(changes(&mut tree), LINE, "a value of the same size");
    tree.put(1, &500u64.to_be_bytes(), &7u64.to_le_bytes()).unwrap();
    assert_eq!(changes(&mut tree), 0, "the same value");

    let mut long = vec![1; 5000];
    tree.put(1, b"a long value", &long).unwrap();
    changes(&mut tree);
    long.extend_from_slice(&[2; 30]);
    tree.put(1, b"a long value", &long).unwrap();
    assert!(changes(&mut tree) <= 3 * LINE, "the end of a long value, and its length");
}

#[test]
fn a_long_value_has_pages_of_its_own_until_it_goes() {
    let mut tree = tree();
    put(&mut tree, 0..2);
    for len in [0, 110, 111, 4080, 4081, run::MOST - 1, 4080, 120, 5] {
        let value = vec![len as u8; len];
        tree.put(1, b"k", &value).unwrap();
        assert_eq!(tree.get(1, b"k"), Some(&value[..]));
        // A slot, lengths and key are 7 bytes, of 124.
        assert_eq!(in_use(&tree), 1 + usize::from(len > 117), "{len}");
    }
    tree.put(1, b"k", &[1; 5000]).unwrap();
    assert!(tree.remove(1, b"k"));
    assert_eq!(in_use(&tree), 1);
}

#[test]
fn what_is_beyond_the_limits_is_refused_and_changes_nothing() {
    let mut tree = tree();
    tree.put(1, &[1; MOST_KEY], &vec![2; run::MOST - MOST_KEY]).unwrap();
    changes(&mut tree);
    let fault = tree.put(1, &[1; MOST_KEY], &vec![3; run::MOST - MOST_KEY + 1]).unwrap_err();
    assert!(matches!(fault, PagedFault::TooLarge { .. }), "{fault}");
    let fault = tree.put(1, &[1; MOST_KEY + 1], b"").unwrap_err();
    assert!(matches!(fault, PagedFault::LongKey { size: 101, most: 100 }), "{fault}");
    assert_eq!((changes(&mut tree), tree.len()), (0, 1));
}

#[test]
fn the_largest_entries_can_be_divided() {
    let mut tree = tree();
    let key = |n: u8| [&[9; MOST_KEY - 1], &[n][..]].concat();
    for n in shuffled(256) {
        let key = key(n as u8);
        tree.put(1, &key, &[1; MOST_ENTRY - SLOT - node::HEAD - MOST_KEY]).unwrap();
    }
    assert!(root(&tree).level >= 3);
    let mut seen = 0;
    tree.scan(1, b"", &mut |key, _| {
        assert_eq!(usize::from(key[MOST_KEY - 1]), seen);
        seen += 1;
        true
    });
    assert_eq!(seen, 256);
    for n in 0..255u8 {
        assert!(tree.remove(1, &key(n)));
    }
    assert_eq!((root(&tree).level, in_use(&tree)), (0, 1));
}

/// As for the tables: the shadow of the pages compares, this asks whether it had something to compare.
#[test]
fn verify_leaves_inner_nodes_and_runs() {
    let mut tree = tree();
    let mut frozen = false;
    for n in 0..20_000u64 {
        let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 3000;
        if n % 3 == 0 {
            tree.remove(1, &key.to_be_bytes());
        } else {
            let len = if n % 100 == 1 { n % 8000 } else { n % 60 };
            tree.put(1, &key.to_be_bytes(), &vec![n as u8; len as usize]).unwrap();
        }
        if !frozen && n % 1000 == 0 {
            if n % 7000 == 0 {
                tree.pages.mark_all();
            }
            tree.pages.freeze();
            frozen = true;
        }
        if frozen && n % 10 == 0 && tree.pages.drain(5000) {
            tree.pages.take_image().for_each(drop);
            frozen = false;
        }
    }
    let [.., leaves, inner, _, runs] = tree.pages.shadow.compared;
    assert!(leaves > 500 && inner > 50 && runs > 50, "{leaves} leaves, {inner} inner nodes, {runs} runs");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The check that reads a file back takes every tree that is made.
    #[test]
    fn a_tree_is_one_whatever_was_done(
        ops in prop::collection::vec((any::<bool>(), 0..800u64, 1..200u64, 0..40usize), 1..60),
    ) {
        let mut tree = tree();
        for (adds, first, count, len) in ops {
            for n in first..first + count {
                let key = [&n.to_be_bytes()[6..], &b"k".repeat(n as usize % 90)].concat();
                if adds {
                    tree.put(1, &key, &b"v".repeat(len * (n as usize % 5))).unwrap();
                } else {
                    tree.remove(1, &key);
                }
            }
            let (entries, len) = (tree.counts[1], tree.len());
            if tree.pages.len_of(1) > 0 {
                let mut settled = tree;
                prop_assert_eq!(settled.settle(&[(1, entries)], &InlineExecutor), Ok(()));
                settled.len = len;
                tree = settled;
            }
        }
        prop_assert_eq!(PAGE % node::USED, 0);
    }
}
