//! Which file is which: what survives a renaming, and what betrays that the content was replaced (ruling 26).

use crate::record::hash_bytes;
use crate::storage::{ReadFile, Result};

/// Bytes at the beginning of a file that a fingerprint covers at most.
pub(super) const HEAD: usize = 1024;

/// The first bytes of a file: how many, at most [`HEAD`], and their hash.
///
/// A file that only grows keeps matching every fingerprint that was ever taken of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub len: u32,
    pub hash: u64,
}

impl Default for Fingerprint {
    /// Of no bytes: every file fits it.
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Fingerprint {
    /// Of a file that begins with `head` and has no further byte, unless `head` is [`HEAD`] bytes or more.
    pub(super) fn of(head: &[u8]) -> Self {
        let head = &head[..head.len().min(HEAD)];
        Self { len: head.len() as u32, hash: hash_bytes(head) }
    }

    /// Whether a file that begins with `head` may be the one this was taken of.
    pub(super) fn fits(self, head: &[u8]) -> bool {
        head.get(..self.len as usize).is_some_and(|head| hash_bytes(head) == self.hash)
    }
}

/// The first bytes of a file, at most [`HEAD`].
pub(super) fn head_of(file: &dyn ReadFile) -> Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let n = file.read_at(&mut head, 0)?;
    head.truncate(n);
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_file_fits_its_old_fingerprint_and_another_beginning_does_not() {
        let old = Fingerprint::of(b"line 1\n");
        assert!(old.fits(b"line 1\n"));
        assert!(old.fits(b"line 1\nline 2\n"));
        assert!(!old.fits(b"line 1"));
        assert!(!old.fits(b"line 9\nline 2\n"));
        assert!(Fingerprint::default().fits(b"anything"));
    }

    #[test]
    fn a_fingerprint_covers_the_first_kibibyte() {
        let mut file = vec![b'x'; 2000];
        let print = Fingerprint::of(&file);
        assert_eq!(print.len, 1024);
        file[1024] = b'y';
        assert!(print.fits(&file));
        file[1023] = b'y';
        assert!(!print.fits(&file));
    }
}
