//! Inputs that several cases use.

use millstream_tests::process::{Lines, Random};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Records of `key,number,padding`, about 70 bytes each; new keys come up to the end, and old ones all the time.
pub fn keyed(records: usize) -> String {
    let mut random = Random::new(records as u64);
    let mut text = String::new();
    for i in 0..records {
        let key = random.below(i as u64 / 10 + 1);
        writeln!(text, "k{key},1,{i:07}-{}", "x".repeat(50)).unwrap();
    }
    text
}

/// The key of a record.
pub fn key(line: &str) -> &str {
    line.split(',').next().unwrap()
}

/// How many records each key has.
pub fn counts(text: &str) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    text.lines().for_each(|line| *counts.entry(key(line)).or_default() += 1);
    counts
}

/// What `count` makes of it.
pub fn counted(text: &str) -> Lines {
    Lines::of(
        counts(text).iter().map(|(key, count)| format!("{key},{count}\n")).collect::<String>().as_bytes(),
    )
}

/// What `running` makes of it, where every number is 1: 1 to its count for every key.
pub fn summed(text: &str) -> Lines {
    let mut rows = String::new();
    for (key, count) in counts(text) {
        (1..=count).for_each(|n| writeln!(rows, "{key},{n}").unwrap());
    }
    Lines::of(rows.as_bytes())
}
