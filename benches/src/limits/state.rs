//! `state` by hand: a hash map with the same hash, record at a time.

use crate::engine::state::{WIDE, Wide, count, counted, outcome, timed};
use crate::input::{TEXT, Updates, mix, texts};
use crate::workload::Outcome;
use hashbrown::HashMap;
use millstream_io::record::{hash_bytes, hash_word};
use std::hash::{BuildHasherDefault, Hasher};

/// The engine's hash of keys.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_bytes(bytes);
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.0 = hash_word(word);
    }

    /// The mark that ends a text.
    #[inline(always)]
    fn write_u8(&mut self, _: u8) {}
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Same>>;

/// `u64 -> u64`.
///
/// # Errors
/// None.
pub fn words(input: Updates) -> Result<Outcome, String> {
    let mut map = Map::<u64, u64>::default();
    let taken =
        timed(input, |keys| keys, |keys| keys.iter().for_each(|key| *map.entry(*key).or_insert(0) += 1));
    let mixed =
        map.iter().fold(0u64, |mixed, (key, value)| mixed.wrapping_add(mix(*key).wrapping_mul(*value)));
    Ok(outcome(input, taken, map.values().sum(), mixed))
}

/// `u64 ->` 100 bytes.
///
/// # Errors
/// None.
pub fn wide(input: Updates) -> Result<Outcome, String> {
    let mut map = Map::<u64, Wide>::default();
    let taken =
        timed(input, |keys| keys, |keys| keys.iter().for_each(|key| count(map.entry(*key).or_insert(WIDE))));
    let all = map.iter().map(|(key, value)| (mix(*key), counted(value)));
    let mixed = all.fold(0u64, |mixed, (key, value)| mixed.wrapping_add(key.wrapping_mul(value)));
    Ok(outcome(input, taken, map.values().map(counted).sum(), mixed))
}

/// 20-byte texts `->` 100 bytes, keys and values owned by the map.
///
/// # Errors
/// None.
pub fn text(input: Updates) -> Result<Outcome, String> {
    let mut map = Map::<String, Wide>::default();
    let taken = timed(
        input,
        |keys| texts(&keys),
        |texts| {
            for row in 0..texts.len() / TEXT {
                count(map.entry_ref(&texts[row * TEXT..][..TEXT]).or_insert(WIDE));
            }
        },
    );
    Ok(outcome(input, taken, map.values().map(counted).sum(), 0))
}
