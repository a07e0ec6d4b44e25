//! `spill/replay`: segments that are held back go into files, and are read where they lie.

use crate::workload::Outcome;
use millstream_io::scratch::{Budget, DiskScratch};
use millstream_io::segment::{DEFAULT_CAPACITY, Segment, Writer};
use millstream_io::spill::Spill;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// What is held back.
pub const BYTES: usize = 512 << 20;

/// Bytes of a segment.
pub const SEGMENT: usize = DEFAULT_CAPACITY;

/// Different segments, which come round about.
pub const SEGMENTS: usize = 64;

/// The numbers of a segment.
pub fn numbers(segment: usize) -> impl Iterator<Item = u64> {
    (0..SEGMENT as u64 / 8).map(move |n| (n + segment as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// MB a second from the first segment that is put aside to the last number that is read.
///
/// # Errors
/// No room in the system's directory for temporary files.
pub fn run() -> Result<Outcome, String> {
    let segments: Vec<Segment<u64>> = (0..SEGMENTS).map(filled).collect::<Result<_, _>>()?;
    let scratch = Arc::new(DiskScratch::new(std::env::temp_dir(), Budget::new(0)));
    let mut spill = Spill::new(scratch, 1 << 30);
    let mut held = VecDeque::new();
    let begun = Instant::now();
    for segment in segments.iter().cycle().take(BYTES / SEGMENT) {
        held.push_back(spill.put(segment).map_err(|error| error.to_string())?);
    }
    let mut sum = 0u64;
    while let Some(segment) = held.pop_front() {
        sum = segment.iter_from(0).fold(sum, |sum, row| sum.wrapping_add(row.view()));
    }
    Ok(outcome(begun, sum))
}

fn filled(index: usize) -> Result<Segment<u64>, String> {
    let mut writer = Writer::closed();
    writer.open(Segment::new(SEGMENT));
    let fits = numbers(index).all(|number| writer.push(0, number));
    writer.close().filter(|_| fits).ok_or_else(|| "a segment is smaller than it says".into())
}

/// So many bytes since `begun`.
pub fn outcome(begun: Instant, sum: u64) -> Outcome {
    Outcome { figure: BYTES as f64 / begun.elapsed().as_secs_f64() / 1e6, result: vec![("sum", sum)] }
}
