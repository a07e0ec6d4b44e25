//! `wordcount` by hand: a mapped file, split at white space by two pinned threads, every word exchanged.
//!
//! What is exchanged is where a word stands, with its hash and length: 16 bytes, since both threads see the mapping.
//! The tables keep the first place where a word was seen; they are prefetched 16 words ahead.
#![expect(unsafe_code, reason = "files are mapped through an unsafe call")]

use crate::pin;
use crate::text;
use crate::workload::Outcome;
use millstream_io::prefetch::prefetch_index;
use std::sync::Arc;
use std::time::Instant;

const BUFFER: usize = 32 * 1024 / size_of::<Word>();
const RING: usize = 16;
const AHEAD: usize = 16;

/// A word of the text.
#[derive(Clone, Copy)]
struct Word {
    /// Hash above, 16 bits of length below.
    tag: u64,
    at: usize,
}

impl Word {
    #[inline(always)]
    fn new(text: &[u8], at: usize, end: usize) -> Self {
        let word = &text[at..end];
        Self { tag: (hash(word) & !0xffff) | (word.len() as u64 & 0xffff), at }
    }

    #[inline(always)]
    fn of(self, text: &[u8]) -> &[u8] {
        &text[self.at..self.at + (self.tag & 0xffff) as usize]
    }
}

/// A multiplication for every eight bytes.
#[inline(always)]
fn hash(word: &[u8]) -> u64 {
    let mut h = word.len() as u64;
    let mut chunks = word.chunks_exact(8);
    for chunk in &mut chunks {
        h = step(h, u64::from_le_bytes(chunk.try_into().expect("chunks of eight")));
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut last = 0u64;
        for byte in rest {
            last = last << 8 | u64::from(*byte);
        }
        h = step(h, last);
    }
    h
}

#[inline(always)]
fn step(h: u64, x: u64) -> u64 {
    let wide = u128::from(h ^ x ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03_u128;
    wide as u64 ^ (wide >> 64) as u64
}

/// Counts by word, linear probing; a count of 0 is a free slot.
struct Table {
    slots: Vec<(Word, u64)>,
    used: usize,
}

impl Table {
    fn new(slots: usize) -> Self {
        Self { slots: vec![(Word { tag: 0, at: 0 }, 0); slots], used: 0 }
    }

    #[inline(always)]
    fn index(&self, tag: u64) -> usize {
        (tag >> 20) as usize & (self.slots.len() - 1)
    }

    #[inline(always)]
    fn add(&mut self, text: &[u8], word: Word) {
        let mask = self.slots.len() - 1;
        let mut at = self.index(word.tag);
        loop {
            let (seen, count) = &mut self.slots[at & mask];
            if *count == 0 {
                (*seen, *count) = (word, 1);
                self.used += 1;
                if self.used * 2 > self.slots.len() {
                    self.grow();
                }
                return;
            }
            if seen.tag == word.tag && seen.of(text) == word.of(text) {
                *count += 1;
                return;
            }
            at += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut next = Self::new(self.slots.len() * 2);
        let mask = next.slots.len() - 1;
        for (word, count) in self.slots.iter().filter(|slot| slot.1 > 0) {
            let mut at = next.index(word.tag);
            while next.slots[at & mask].1 > 0 {
                at += 1;
            }
            next.slots[at & mask] = (*word, *count);
        }
        next.used = self.used;
        *self = next;
    }

    fn add_all(&mut self, text: &[u8], words: &[Word]) {
        for (i, word) in words.iter().enumerate() {
            let next = words[(i + AHEAD).min(words.len() - 1)];
            prefetch_index(&self.slots, self.index(next.tag));
            self.add(text, *word);
        }
    }
}

struct Worker {
    me: usize,
    text: Arc<memmap2::Mmap>,
    lanes: [Vec<Word>; 2],
    table: Table,
    to_other: rtrb::Producer<Vec<Word>>,
    from_other: rtrb::Consumer<Vec<Word>>,
    pool: Vec<Vec<Word>>,
    ended: bool,
}

impl Worker {
    fn flush(&mut self, to: usize) {
        let next = self.pool.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER));
        let mut full = std::mem::replace(&mut self.lanes[to], next);
        if to == self.me {
            self.table.add_all(&self.text, &full);
            full.clear();
            self.pool.push(full);
            return;
        }
        let mut spin = pin::Spin::default();
        while let Err(rtrb::PushError::Full(back)) = self.to_other.push(full) {
            full = back;
            if !self.take() {
                spin.once();
            }
        }
    }

    fn take(&mut self) -> bool {
        let Ok(mut words) = self.from_other.pop() else { return false };
        self.table.add_all(&self.text, &words);
        self.ended |= words.is_empty();
        words.clear();
        self.pool.push(words);
        true
    }

    fn run(mut self) -> (Table, u64) {
        let text = Arc::clone(&self.text);
        let (start, end) = share(&text, self.me);
        let (mut words, mut at) = (0, start);
        for word in text[start..end].split(u8::is_ascii_whitespace) {
            if !word.is_empty() {
                let word = Word::new(&text, at, at + word.len());
                let to = (word.tag >> 63) as usize;
                self.lanes[to].push(word);
                words += 1;
                if self.lanes[to].len() == BUFFER {
                    self.flush(to);
                    while self.take() {}
                }
            }
            at += word.len() + 1;
        }
        self.flush(0);
        self.flush(1);
        if self.lanes[1 - self.me].is_empty() {
            self.flush(1 - self.me);
        }
        let mut spin = pin::Spin::default();
        while !self.ended {
            if !self.take() {
                spin.once();
            }
        }
        (self.table, words)
    }
}

/// The half of the text that is worker `me`'s: whole lines.
fn share(text: &[u8], me: usize) -> (usize, usize) {
    let middle = text.len() / 2;
    let middle = text[middle..].iter().position(|b| *b == b'\n').map_or(text.len(), |n| middle + n + 1);
    if me == 0 { (0, middle) } else { (middle, text.len()) }
}

/// Counts the words of the text file.
///
/// # Errors
/// When the text cannot be made or mapped, or a thread panicked.
pub fn run() -> Result<Outcome, String> {
    let path = text::paths(1)?.remove(0);
    let cores = pin::cores();
    let begin = Instant::now();
    let file = std::fs::File::open(&path).map_err(|error| format!("open {}: {error}", path.display()))?;
    // SAFETY: the file was made by this program for itself; nobody truncates it.
    let map = unsafe { memmap2::Mmap::map(&file) };
    let map = Arc::new(map.map_err(|error| format!("map {}: {error}", path.display()))?);
    let (to_second, from_first) = rtrb::RingBuffer::new(RING);
    let (to_first, from_second) = rtrb::RingBuffer::new(RING);
    let threads = [(to_second, from_second), (to_first, from_first)].into_iter().enumerate();
    let threads: Vec<_> = threads
        .map(|(me, (to_other, from_other))| {
            let text = Arc::clone(&map);
            pin::on(&cores, me, move || {
                let lanes = [Vec::with_capacity(BUFFER), Vec::with_capacity(BUFFER)];
                let (table, pool) = (Table::new(1 << 12), Vec::new());
                Worker { me, text, lanes, table, to_other, from_other, pool, ended: false }.run()
            })
        })
        .collect();
    let mut counted = text::Counted::default();
    let mut words = 0;
    for thread in threads {
        let (table, mine) = thread.join().map_err(|_| "a thread panicked")?;
        words += mine;
        for (word, count) in table.slots.iter().filter(|slot| slot.1 > 0) {
            counted.add(word.of(&map), *count);
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    if words != counted.words {
        return Err(format!("{words} words were read, {} counted", counted.words));
    }
    Ok(Outcome::rate(words, seconds, counted.result()))
}
