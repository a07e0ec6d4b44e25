use super::*;

/// Computed by an independent program from the definition in the module's documentation.
#[test]
fn d11_published_vectors() {
    let words = [
        (0, 0xd6cb_8892_a926_a943),
        (1, 0x3882_3158_2ef0_2551),
        (2, 0x9b7a_bf07_afbd_a16e),
        (42, 0x5217_ba1b_b259_1cce),
        (1 << 63, 0xe52f_457e_6941_eb4e),
        (u64::MAX, 0x16eb_8c24_a850_b134),
        (B, 0),
    ];
    for (word, hash) in words {
        assert_eq!(hash_word(word), hash, "{word:#x}");
    }
    let all: Vec<u8> = (0..=255).collect();
    let strings: [(&[u8], u64); 13] = [
        (b"", 0xb528_2132_a07e_116e),
        (b"a", 0xd831_a588_9c06_05a3),
        (b"ab", 0x6f2d_d6b2_44ab_088f),
        (b"abc", 0x2cc4_62f0_5ac7_06d2),
        (b"abcd", 0xb19f_294c_8918_135d),
        (b"abcdefg", 0x4974_9fc5_4cab_0c04),
        (b"abcdefgh", 0x3b71_e558_7ed9_9aab),
        (b"abcdefghi", 0xed9f_bf5e_e6a2_e4f6),
        (b"0123456789abcdef", 0x7cb0_72e9_289f_d676),
        (b"0123456789abcdefg", 0xa381_b796_3282_9f2b),
        (b"0123456789abcdef0123456789abcdef", 0x0d4c_e98b_f811_88b7),
        (b"0123456789abcdef0123456789abcdefg", 0x84fb_927a_7bbb_d7c9),
        (&all, 0x2a18_fa3d_df3e_6a39),
    ];
    for (bytes, hash) in strings {
        assert_eq!(hash_bytes(bytes), hash, "{}", bytes.escape_ascii());
    }
}

/// By how many standard deviations the fill of buckets differs from that of random hashes, at the worst place of
/// `bits` neighbouring bits among the top 48. Fuller than even counts; more even than random does not.
fn unevenness(hashes: &[u64], bits: u32) -> f64 {
    let buckets = 1usize << bits;
    let expected = hashes.len() as f64 / buckets as f64;
    let freedom = (buckets - 1) as f64;
    let place = |shift: u32| {
        let mut fill = vec![0u32; buckets];
        hashes.iter().for_each(|hash| fill[(hash >> shift) as usize & (buckets - 1)] += 1);
        let square: f64 = fill.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        (square - freedom) / (2.0 * freedom).sqrt()
    };
    (16..=64 - bits).map(place).fold(f64::MIN, f64::max)
}

/// Random hashes stay below 5 in all of these places together; a weak mix reaches hundreds.
fn assert_even(what: &str, hashes: &[u64]) {
    for bits in [7, 10, 14] {
        let worst = unevenness(hashes, bits);
        assert!(worst < 6.0, "{what}: {bits} bits are filled unevenly, {worst:.1} standard deviations");
    }
    let mut tops: Vec<u64> = hashes.iter().map(|hash| hash >> 16).collect();
    tops.sort_unstable();
    tops.dedup();
    assert_eq!(tops.len(), hashes.len(), "{what}: the top 48 bits of two keys are equal");
}

const KEYS: u64 = 1 << 14;

/// What keys are called, and the key of a number.
type Family<K> = (&'static str, fn(u64) -> K);

/// Mean probes that find one of the keys in a table of twice as many slots by linear probing, the index being the bits
/// of the hash below its top `skip`, with a table for each value of those.
fn probes(hashes: &[u64], skip: u32) -> f64 {
    let bits = (2 * hashes.len()).ilog2() - skip;
    let mut taken = vec![false; 1 << (bits + skip)];
    let probes = |hash: &u64| {
        let table = (hash >> 1 >> (63 - skip)) as usize;
        let home = (hash << skip >> (64 - bits)) as usize;
        let slot = |n: usize| table << bits | (home + n) & ((1 << bits) - 1);
        let free = (0..1 << bits).find(|n| !taken[slot(*n)]).expect("a table has room for its keys");
        taken[slot(free)] = true;
        free + 1
    };
    hashes.iter().map(probes).sum::<usize>() as f64 / hashes.len() as f64
}

/// Chance gives 1.5 probes (Knuth: half of 1 + 1 / (1 - fill)).
fn assert_found_quickly(what: &str, hashes: &[u64], most: f64) {
    for skip in [0, 8] {
        let probes = probes(hashes, skip);
        assert!(probes < most, "{what}: {probes:.2} probes for a key, below {skip} bits");
    }
    let mut tops: Vec<u64> = hashes.iter().map(|hash| hash >> 16).collect();
    tops.sort_unstable();
    tops.dedup();
    assert_eq!(tops.len(), hashes.len(), "{what}: the top 48 bits of two keys are equal");
}

#[test]
fn words_that_real_keys_look_like_are_found_quickly() {
    let families: [Family<u64>; 11] = [
        ("numbers", |i| i),
        ("negative", |i| i.wrapping_neg()),
        ("thousands", |i| i * 1000),
        ("microseconds", |i| 1_700_000_000_000_000 + i * 1_000_000),
        ("milliseconds of days", |i| i * 86_400_000),
        ("equal halves", |i| i << 32 | i),
        ("two small numbers", |i| (i & 127) << 32 | i >> 7),
        ("big endian", |i| i.swap_bytes()),
        ("decimal digits", |i| (i % 10) | (i / 10 % 10) << 8 | (i / 100 % 10) << 16 | (i / 1000) << 24),
        ("floating-point", |i| (i as f64).to_bits()),
        ("around B", |i| B ^ i),
    ];
    for (what, key) in families {
        let most = if what == "numbers" { 1.05 } else { 2.0 };
        assert_found_quickly(what, &(0..KEYS).map(|i| hash_word(key(i))).collect::<Vec<_>>(), most);
    }
    for shift in 0..=50 {
        let hashes: Vec<_> = (0..KEYS).map(|i| hash_word(i << shift)).collect();
        assert_found_quickly(&format!("multiples of 2^{shift}"), &hashes, 4.5);
    }
}

#[test]
fn strings_that_real_keys_look_like_are_spread_evenly() {
    let families: [Family<Vec<u8>>; 12] = [
        ("numbers", |i| i.to_string().into_bytes()),
        ("short names", |i| format!("key-{i}").into_bytes()),
        ("padded names", |i| format!("user{i:010}").into_bytes()),
        ("16 digits", |i| format!("{i:016}").into_bytes()),
        ("equal pairs", |i| [i.to_le_bytes(), i.to_le_bytes()].concat()),
        ("pairs of zero and a number", |i| [[0; 8], i.to_le_bytes()].concat()),
        ("pairs of a number and zero", |i| [i.to_le_bytes(), [0; 8]].concat()),
        ("paths", |i| format!("https://example.com/catalogue/{i}/index.html").into_bytes()),
        ("zeros", |i| vec![0; i as usize]),
        ("other bytes in a middle block", |i| {
            [[1; 32], [i.to_le_bytes(); 4].concat().try_into().unwrap(), [2; 32]].concat()
        }),
        ("other bytes near the end", |i| format!("{:40}{i:05}{:11}", "", "").into_bytes()),
        ("one bit of many", |i| {
            let mut bytes = vec![0; KEYS as usize / 8];
            bytes[i as usize / 8] = 1 << (i % 8);
            bytes
        }),
    ];
    for (what, key) in families {
        let keys = if what.starts_with("zeros") { 4096 } else { KEYS };
        assert_even(what, &(0..keys).map(|i| hash_bytes(&key(i))).collect::<Vec<_>>());
    }
}

/// Each bit of a string changes each of the top 48 bits of the hash in about half of all keys.
#[test]
fn every_bit_of_a_string_reaches_every_bit_that_is_used() {
    const ROUNDS: u64 = 1000;
    for length in [8usize, 5, 12, 16, 24, 33, 50] {
        let mut seed = 0x1234_5678_9abc_def1u64;
        let mut flips = vec![[0u32; 64]; length * 8];
        for _ in 0..ROUNDS {
            let mut key: Vec<u8> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 56) as u8
                })
                .collect();
            let before = hash_bytes(&key);
            for (bit, flips) in flips.iter_mut().enumerate() {
                key[bit / 8] ^= 1 << (bit % 8);
                let changed = before ^ hash_bytes(&key);
                key[bit / 8] ^= 1 << (bit % 8);
                (16..64).for_each(|place| flips[place] += (changed >> place) as u32 & 1);
            }
        }
        for (bit, flips) in flips.iter().enumerate() {
            for (place, &flipped) in flips.iter().enumerate().skip(16) {
                // Half of the rounds, give or take 6.5 standard deviations of 16.
                assert!(
                    flipped.abs_diff(ROUNDS as u32 / 2) < 104,
                    "{length} bytes, bit {bit} to {place}: {flipped}"
                );
            }
        }
    }
}
