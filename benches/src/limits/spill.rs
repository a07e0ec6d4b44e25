//! `spill/replay` by hand: the same bytes written to a file one after the other, and read again.

use crate::engine::spill::{BYTES, SEGMENT, SEGMENTS, numbers, outcome};
use crate::workload::Outcome;
use std::io::{Read, Seek, Write};
use std::time::Instant;

/// MB a second from the first write to the last number that is read.
///
/// # Errors
/// No room in the system's directory for temporary files.
pub fn run() -> Result<Outcome, String> {
    let failed = |error: std::io::Error| format!("a temporary file: {error}");
    let buffers: Vec<Vec<u8>> =
        (0..SEGMENTS).map(|index| numbers(index).flat_map(u64::to_le_bytes).collect()).collect();
    let mut file = tempfile::tempfile().map_err(failed)?;
    let begun = Instant::now();
    for buffer in buffers.iter().cycle().take(BYTES / SEGMENT) {
        file.write_all(buffer).map_err(failed)?;
    }
    file.rewind().map_err(failed)?;
    let (mut sum, mut buffer) = (0u64, vec![0; SEGMENT]);
    for _ in 0..BYTES / SEGMENT {
        file.read_exact(&mut buffer).map_err(failed)?;
        let (numbers, _) = buffer.as_chunks::<8>();
        sum = numbers.iter().fold(sum, |sum, number| sum.wrapping_add(u64::from_le_bytes(*number)));
    }
    Ok(outcome(begun, sum))
}
