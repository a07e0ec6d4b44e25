//! What the formats' tests share.

use super::{Format, Splitter};

/// The contents of all records of a whole text that is fed in chunks of `chunk` bytes.
pub(crate) fn split<F: Format>(text: &[u8], chunk: usize) -> Vec<&[u8]> {
    cuts::<F::Splitter>(text, chunk)
        .into_iter()
        .map(|(begin, end)| F::content(&text[begin..end]))
        .filter(|content| !(F::SKIPS_EMPTY && content.is_empty()))
        .collect()
}

/// Where each record begins and ends, its line end included.
pub(crate) fn cuts<S: Splitter>(text: &[u8], chunk: usize) -> Vec<(usize, usize)> {
    let mut ends = Vec::new();
    let mut splitter = S::default();
    for (i, piece) in text.chunks(chunk.max(1)).enumerate() {
        let mut at = 0;
        while let Some(n) = splitter.next_end(&piece[at..]) {
            at += n;
            ends.push(i * chunk + at);
        }
    }
    pairs(ends, text.len())
}

/// The same by runs of at most `run` records.
pub(crate) fn cuts_by_runs<S: Splitter>(text: &[u8], chunk: usize, run: usize) -> Vec<(usize, usize)> {
    let mut ends = Vec::new();
    let mut splitter = S::default();
    for (i, piece) in text.chunks(chunk.max(1)).enumerate() {
        let mut at = 0;
        let mut left = run;
        while let Some(n) = splitter.each_end(&piece[at..], |end| {
            ends.push(i * chunk + at + end);
            left -= 1;
            left > 0
        }) {
            at += n;
            left = run;
        }
    }
    pairs(ends, text.len())
}

fn pairs(ends: Vec<usize>, len: usize) -> Vec<(usize, usize)> {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let mut pairs: Vec<_> = begins.zip(ends.iter().copied()).collect();
    let rest = ends.last().copied().unwrap_or(0);
    if rest < len {
        pairs.push((rest, len));
    }
    pairs
}

/// The contents of the CSV records of a text, blank lines and a last record with an open quote left out; by the
/// grammar a byte at a time.
pub(crate) fn whole_records(text: &[u8]) -> Vec<&[u8]> {
    let (cuts, open) = csv_model(text);
    let whole = cuts.len() - usize::from(open);
    let contents = cuts[..whole].iter().map(|(begin, end)| {
        let record = &text[*begin..*end];
        match record.strip_suffix(b"\n") {
            Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
            None => record,
        }
    });
    contents.filter(|content| !content.is_empty()).collect()
}

/// Where each CSV record begins and ends, and whether a quote is open at the end: the grammar, a byte at a time.
pub(crate) fn csv_model(text: &[u8]) -> (Vec<(usize, usize)>, bool) {
    let (mut ends, mut begin) = (Vec::new(), 0);
    let (mut first, mut quoted, mut closing) = (true, false, false);
    for (at, &byte) in text.iter().enumerate() {
        if quoted && !closing {
            closing = byte == b'"';
            continue;
        }
        if closing && byte == b'"' {
            closing = false;
            continue;
        }
        (quoted, closing) = (false, false);
        match byte {
            b'"' if first => (quoted, first) = (true, false),
            b',' => first = true,
            b'\n' => {
                ends.push((begin, at + 1));
                (begin, first) = (at + 1, true);
            }
            _ => first = false,
        }
    }
    if begin < text.len() {
        ends.push((begin, text.len()));
    }
    (ends, quoted && !closing)
}
