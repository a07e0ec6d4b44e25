//! Any bytes as lines and as CSV: records end at the same places however the bytes are cut and by whichever way they
//! are looked for, and fields that are written again mean what they meant.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the fuzzer's macro writes files of its own")]

use libfuzzer_sys::fuzz_target;
use millstream_io::format::csv::{CsvSplitter, fields, write_field};
use millstream_io::format::{Csv, Format, LineSplitter, Splitter};

/// The ends of all records, fed in chunks and asked for in runs.
fn ends<S: Splitter>(text: &[u8], chunk: usize, run: usize) -> Vec<usize> {
    let mut splitter = S::default();
    let mut ends = Vec::new();
    for (i, piece) in text.chunks(chunk).enumerate() {
        let (mut at, mut left) = (0, run);
        while let Some(n) = splitter.each_end(&piece[at..], |end| {
            ends.push(i * chunk + at + end);
            left -= 1;
            left > 0
        }) {
            at += n;
            left = run;
        }
    }
    ends
}

fn one_at_a_time<S: Splitter>(text: &[u8]) -> Vec<usize> {
    let mut splitter = S::default();
    let (mut at, mut ends) = (0, Vec::new());
    for (i, byte) in text.iter().enumerate() {
        if splitter.next_end(std::slice::from_ref(byte)).is_some() {
            at = i + 1;
            ends.push(at);
        }
    }
    assert!(at <= text.len());
    ends
}

/// However it goes on, passing over bytes leaves the splitter where looking at each record leaves it.
fn passed_like_read(text: &[u8], at: usize) {
    let (before, after) = text.split_at(at);
    let (mut passed, mut read) = (CsvSplitter::default(), CsvSplitter::default());
    passed.pass(before);
    let mut rest = before;
    while let Some(n) = read.next_end(rest) {
        rest = &rest[n..];
    }
    assert_eq!(passed.next_end(after), read.next_end(after));
}

fn values(record: &[u8]) -> Vec<Vec<u8>> {
    let mut scratch = Vec::new();
    fields(record).map(|field| field.value(&mut scratch).to_vec()).collect()
}

fuzz_target!(|input: &[u8]| {
    let [chunk, run, at, text @ ..] = input else { return };
    let (chunk, run) = (usize::from(*chunk) + 1, usize::from(*run) + 1);
    assert_eq!(ends::<LineSplitter>(text, chunk, run), one_at_a_time::<LineSplitter>(text));
    let csv = ends::<CsvSplitter>(text, chunk, run);
    assert_eq!(csv, one_at_a_time::<CsvSplitter>(text));
    passed_like_read(text, usize::from(*at).min(text.len()));
    let mut begin = 0;
    for end in csv {
        let row = values(Csv::content(&text[begin..end]));
        let mut line = Vec::new();
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                line.push(b',');
            }
            write_field(&mut line, value);
        }
        assert_eq!(values(&line), row);
        begin = end;
    }
});
