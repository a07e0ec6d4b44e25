//! Which shard and which slot.

use crate::heap::head::WordHead;
use crate::heap::shard::SHARD_BITS;
use crate::heap::shards::Shards;

type Small = Shards<WordHead, u64>;

/// Where hashes with these top bits lead.
fn shard_of(shards: &Small, top: u64, bits: u32) -> usize {
    shards.of(top << (u64::BITS - bits))
}

#[test]
fn a_shard_is_divided_by_the_next_bit_of_its_hashes_and_no_other_one_moves() {
    let mut shards = Small::new();
    while shards.is_one() {
        shards.grow(0, shards[0].limit());
    }
    assert_eq!([0, 1].map(|top| shard_of(&shards, top, 1)), [0, 1]);
    shards.grow(1, 0);
    assert_eq!([0, 1, 2, 3].map(|top| shard_of(&shards, top, 2)), [0, 0, 1, 2]);
    shards.grow(2, 0);
    shards.grow(0, 0);
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|top| shard_of(&shards, top, 3)), [0, 0, 4, 4, 1, 1, 2, 3]);
    assert_eq!(shards.count(), 5);
}

#[test]
fn a_shard_that_the_bits_divide_no_further_becomes_larger() {
    let mut shards = Small::new();
    while shards.is_one() {
        shards.grow(0, shards[0].limit());
    }
    for _ in 1..SHARD_BITS {
        let all = shards.of(u64::MAX);
        shards.grow(all, 0);
    }
    let last = shards.of(u64::MAX);
    let (count, slots) = (shards.count(), shards[last].slots.len());
    shards.grow(last, 0);
    assert_eq!((shards.count(), shards[last].slots.len()), (count, 2 * slots));
    assert!(shards[last].home(u64::MAX) < 2 * slots);
}

#[test]
fn many_shards_hold_groups_of_slots_in_one_cache_line() {
    let mut shards = Small::new();
    while shards.is_one() {
        shards.grow(0, shards[0].limit());
    }
    for hash in (0..1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
        let shard = &shards[shards.of(hash)];
        let slot = &raw const shard.slots[shard.home(hash)];
        assert_eq!(slot as usize % 64, 0, "four slots of sixteen bytes");
    }
}
