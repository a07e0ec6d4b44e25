//! Reading and writing the fields of a file's body: little-endian numbers, texts and byte strings behind their
//! length. Reading is checked: it never panics, and a count is believed only as far as the bytes that follow it.

use crate::error::FormatError;

/// Appends fields.
#[derive(Default)]
pub(crate) struct Encoder {
    pub bytes: Vec<u8>,
}

impl Encoder {
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u128(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A count of things that follow.
    ///
    /// # Panics
    /// Beyond `u32::MAX`, which no snapshot that fits into memory reaches.
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("fewer than 2^32 parts"));
    }

    pub fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }
}

/// Takes fields off the front of untrusted bytes.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    length: usize,
}

type Result<T> = std::result::Result<T, FormatError>;

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, length: bytes.len() }
    }

    /// The error that says that `field`, which ends here, makes no sense.
    pub fn bad(&self, field: &'static str, problem: &'static str) -> FormatError {
        FormatError::Field { field, offset: (self.length - self.rest.len()) as u64, problem }
    }

    pub fn take(&mut self, n: usize, field: &'static str) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(n) else {
            return Err(self.bad(field, "it goes beyond the end"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub fn u8(&mut self, field: &'static str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    pub fn u16(&mut self, field: &'static str) -> Result<u16> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub fn u32(&mut self, field: &'static str) -> Result<u32> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, field: &'static str) -> Result<u64> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub fn u128(&mut self, field: &'static str) -> Result<u128> {
        self.array(field).map(u128::from_le_bytes)
    }

    pub fn bool(&mut self, field: &'static str) -> Result<bool> {
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.bad(field, "it is neither 0 nor 1")),
        }
    }

    /// A count of things of at least `least` bytes each: refused when they cannot be there, so that it may be used to
    /// reserve memory.
    pub fn count(&mut self, least: usize, field: &'static str) -> Result<usize> {
        let count = self.u32(field)? as usize;
        match count.checked_mul(least) {
            Some(bytes) if bytes <= self.rest.len() => Ok(count),
            _ => Err(self.bad(field, "there are not as many")),
        }
    }

    /// `count` things of at least `least` bytes each, read by `read`.
    pub fn many<T>(
        &mut self,
        least: usize,
        field: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.count(least, field)?;
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(read(self)?);
        }
        Ok(all)
    }

    pub fn blob(&mut self, field: &'static str) -> Result<&'a [u8]> {
        let length = self.count(1, field)?;
        self.take(length, field)
    }

    pub fn text(&mut self, field: &'static str) -> Result<&'a str> {
        let bytes = self.blob(field)?;
        std::str::from_utf8(bytes).map_err(|_| self.bad(field, "it is not UTF-8"))
    }

    /// Whether all has been taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.bad("end", "bytes are left over")) }
    }
}
