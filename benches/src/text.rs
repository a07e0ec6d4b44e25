//! The text of `wordcount`: made once, from a fixed seed, kept in the system's temporary directory.

use crate::input::mix;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes, at least.
const SIZE: u64 = 210_000_000;
/// Different words.
const VOCABULARY: u64 = 60_000;
/// Part of the file's name: another generator needs another name.
const VERSION: u32 = 2;

/// Where the first so many files of text are; makes those that are not there.
///
/// # Errors
/// When one cannot be written.
pub fn paths(files: u64) -> Result<Vec<PathBuf>, String> {
    (0..files).map(path).collect()
}

fn path(file: u64) -> Result<PathBuf, String> {
    let path = std::env::temp_dir().join(format!("millstream-benches-words-v{VERSION}-{file}.txt"));
    if !std::fs::metadata(&path).is_ok_and(|meta| meta.len() >= SIZE) {
        make(&path, file << 40).map_err(|error| format!("write {}: {error}", path.display()))?;
    }
    Ok(path)
}

/// Writes lines of 8 to 15 words; the rank of a word is log-uniform, so that frequencies fall like 1 / rank.
fn make(path: &Path, seed: u64) -> std::io::Result<()> {
    let words: Vec<String> = (0..VOCABULARY).map(word).collect();
    let unfinished = path.with_extension(format!("{}.part", std::process::id()));
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(&unfinished)?);
    let (mut written, mut draw) = (0, seed);
    while written < SIZE {
        for n in (0..8 + mix(draw) % 8).rev() {
            draw += 1;
            let uniform = (mix(draw) >> 11) as f64 / (1u64 << 53) as f64;
            let rank = ((VOCABULARY as f64).powf(uniform) - 1.0) as usize;
            let word = words[rank].as_bytes();
            out.write_all(word)?;
            out.write_all(if n == 0 { b"\n" } else { b" " })?;
            written += word.len() as u64 + 1;
        }
    }
    out.into_inner()?.sync_all()?;
    std::fs::rename(unfinished, path)
}

/// The word of a rank: letters, the frequent ones short, no two alike.
fn word(rank: u64) -> String {
    let (mut word, mut n) = (String::new(), rank);
    loop {
        word.push(char::from(b'a' + (n % 26) as u8));
        n /= 26;
        if n == 0 {
            break;
        }
        n -= 1;
    }
    let more = if rank < 100 { 1 + rank % 3 } else { 2 + mix(rank) % 6 };
    // A separator of its own kind keeps words of different ranks apart.
    word.push(char::from(b'A' + (mix(rank) % 26) as u8));
    (0..more).for_each(|i| word.push(char::from(b'a' + (mix(rank ^ i << 32) % 26) as u8)));
    word
}

/// What is compared between the two sides.
#[derive(Debug, Default)]
pub struct Counted {
    /// All words.
    pub words: u64,
    /// Different words.
    pub distinct: u64,
    /// A sum over all counts that depends on which word has which.
    pub mixed: u64,
}

impl Counted {
    /// One word's count.
    pub fn add(&mut self, word: &[u8], count: u64) {
        Self::add_to(&mut self.words, &mut self.distinct, &mut self.mixed, word, count);
    }

    /// One word's count, for sums that are kept elsewhere.
    pub fn add_to(words: &mut u64, distinct: &mut u64, mixed: &mut u64, word: &[u8], count: u64) {
        *words += count;
        *distinct += 1;
        let hash = word.iter().fold(7, |h, byte| mix(h ^ u64::from(*byte)));
        *mixed = mixed.wrapping_add(hash.wrapping_mul(count));
    }

    /// Words, different words, and a sum over all counts that depends on which word has which.
    pub fn result(&self) -> Vec<(&'static str, u64)> {
        vec![("words", self.words), ("distinct", self.distinct), ("per word", self.mixed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_hold_letters_only() {
        let words: std::collections::HashSet<String> = (0..VOCABULARY).map(word).collect();
        assert_eq!(words.len() as u64, VOCABULARY);
        assert!(words.iter().all(|word| word.bytes().all(|b| b.is_ascii_alphabetic()) && word.len() <= 16));
    }
}
