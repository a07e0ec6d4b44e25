//! Any bytes for `_metadata` and `lineage`, with and without a right checksum around them: refused, or exactly the
//! encoding of what was read from them.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the fuzzer's macro writes files of its own")]

use libfuzzer_sys::fuzz_target;
use millstream_state::Metadata;
use millstream_state::lineage::Lineage;

/// The frame of `state/docs/format.md`, so that the fuzzer gets behind the checksums.
fn framed(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    let mut file = magic.to_vec();
    file.extend(1u32.to_le_bytes());
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(crc32fast::hash(&file).to_le_bytes());
    file.extend(body);
    file.extend(crc32fast::hash(body).to_le_bytes());
    file
}

fn metadata(bytes: &[u8]) {
    if let Ok(metadata) = Metadata::parse(bytes) {
        assert_eq!(metadata.encode().as_deref(), Ok(bytes));
    }
}

fn lineage(bytes: &[u8]) {
    if let Ok(lineage) = Lineage::parse(bytes) {
        assert_eq!(lineage.encode(), bytes);
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, bytes)) = input.split_first() else { return };
    match kind % 4 {
        0 => metadata(bytes),
        1 => metadata(&framed(b"MILLMETA", bytes)),
        2 => lineage(bytes),
        _ => lineage(&framed(b"MILLLINE", bytes)),
    }
});
