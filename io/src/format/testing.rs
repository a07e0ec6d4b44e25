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
    let mut splitter = S::default();
    let mut cuts = Vec::new();
    let mut begin = 0;
    for (i, piece) in text.chunks(chunk.max(1)).enumerate() {
        let mut at = 0;
        while let Some(n) = splitter.next_end(&piece[at..]) {
            at += n;
            cuts.push((begin, i * chunk + at));
            begin = i * chunk + at;
        }
    }
    if begin < text.len() {
        cuts.push((begin, text.len()));
    }
    cuts
}
