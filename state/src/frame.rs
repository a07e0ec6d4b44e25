//! The frame around every small file of this crate: magic number, format version, length, body, checksums.
//!
//! ```text
//! 0    8  magic number, says what kind of file it is
//! 8    4  format version
//! 12   8  length of the body
//! 20   4  CRC-32 of bytes 0..20
//! 24   n  body
//! 24+n 4  CRC-32 of the body
//! ```
//!
//! Numbers are little-endian. The first 24 bytes mean the same in every version, so that a newer file is told from a
//! damaged one.

use crate::error::FormatError;

/// Bytes before the body.
pub(crate) const HEADER: usize = 24;
/// Bytes behind it.
pub(crate) const TRAILER: usize = 4;

/// What a kind of file begins with, and the version that this build writes. It reads that one and all before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileKind {
    pub magic: [u8; 8],
    pub version: u32,
}

/// The whole file around `body`.
pub(crate) fn seal(kind: FileKind, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + body.len() + TRAILER);
    out.extend_from_slice(&kind.magic);
    out.extend_from_slice(&kind.version.to_le_bytes());
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    out
}

/// The version and body of a file, checked.
pub(crate) fn open(kind: FileKind, bytes: &[u8]) -> Result<(u32, &[u8]), FormatError> {
    let magic = &bytes[..bytes.len().min(8)];
    if magic != &kind.magic[..magic.len()] {
        return Err(FormatError::Magic { expected: kind.magic });
    }
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else {
        return Err(FormatError::Truncated { expected: HEADER as u64, found: bytes.len() as u64 });
    };
    let (stored, computed) = (u32_at(header, 20), crc32fast::hash(&header[..20]));
    if stored != computed {
        return Err(FormatError::Checksum { part: "header", stored, computed });
    }
    let version = u32_at(header, 8);
    if version == 0 || version > kind.version {
        return Err(FormatError::Version { found: version, supported: kind.version });
    }
    let length = u64::from(u32_at(header, 12)) | u64::from(u32_at(header, 16)) << 32;
    let (expected, found) = (length.saturating_add((HEADER + TRAILER) as u64), bytes.len() as u64);
    if found < expected {
        return Err(FormatError::Truncated { expected, found });
    }
    if found > expected {
        return Err(FormatError::Trailing { expected, found });
    }
    let (body, trailer) = rest.split_at(rest.len() - TRAILER);
    let (stored, computed) = (u32_at(trailer, 0), crc32fast::hash(body));
    if stored != computed {
        return Err(FormatError::Checksum { part: "body", stored, computed });
    }
    Ok((version, body))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: FileKind = FileKind { magic: *b"TESTFILE", version: 3 };

    #[test]
    fn what_was_sealed_opens() {
        for body in [&b""[..], b"x", &[7; 1000]] {
            assert_eq!(open(KIND, &seal(KIND, body)), Ok((3, body)));
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let file = seal(KIND, b"abc");
        assert_eq!(&file[..12], b"TESTFILE\x03\0\0\0");
        assert_eq!(file[12..20], [3, 0, 0, 0, 0, 0, 0, 0]);
        // CRC-32 (IEEE) of "abc", from the tables of the ZIP format: 352441c2.
        assert_eq!(file[24..], [b'a', b'b', b'c', 0xc2, 0x41, 0x24, 0x35]);
    }

    /// ER-06: the reasons are told apart.
    #[test]
    fn er_06_every_damage_has_its_own_error() {
        let file = seal(KIND, b"0123456789");
        assert!(matches!(
            open(KIND, b"PK\x03\x04 some other file, long enough"),
            Err(FormatError::Magic { .. })
        ));
        let newer = seal(FileKind { version: 4, ..KIND }, b"0123456789");
        assert_eq!(open(KIND, &newer), Err(FormatError::Version { found: 4, supported: 3 }));
        for cut in 0..file.len() {
            assert!(matches!(open(KIND, &file[..cut]), Err(FormatError::Truncated { .. })), "cut to {cut}");
        }
        let mut longer = file.clone();
        longer.push(0);
        assert!(matches!(open(KIND, &longer), Err(FormatError::Trailing { .. })));
        for at in 8..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 0x10;
            let part = if at < HEADER { "header" } else { "body" };
            match open(KIND, &flipped) {
                Err(FormatError::Checksum { part: named, .. }) => assert_eq!(named, part, "byte {at}"),
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }
}
