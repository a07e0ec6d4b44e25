//! Byte strings and texts.

use super::{DecodeError, KeyWire, Levels, ListWire, Room, Sealed, Trust, Wire, append};

/// Bytes of the length in front of a text or byte string.
const LENGTH: usize = 4;

/// Byte strings: length as a little-endian `u32`, then the bytes.
#[derive(Debug)]
pub struct Blob;
impl Sealed for Blob {}

impl Wire for Blob {
    type View<'a> = &'a [u8];
    const FIXED: Option<usize> = None;
    const NAME: &'static str = "bytes";
    #[inline(always)]
    fn measure(view: Self::View<'_>, _: Levels) -> usize {
        LENGTH + view.len()
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        let length = u32::try_from(view.len()).expect("a text or byte string is shorter than 4 GiB");
        room.put(&length.to_le_bytes());
        room.put(view);
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: a length and so many bytes behind it are there; the caller keeps them for `'a`.
        unsafe {
            let length = u32::from_le_bytes(at.cast::<[u8; LENGTH]>().read_unaligned()) as usize;
            (std::slice::from_raw_parts(at.add(LENGTH), length), LENGTH + length)
        }
    }
    #[inline]
    fn check(bytes: &[u8], _: Levels) -> Result<usize, DecodeError> {
        Ok(LENGTH + content(bytes)?.len())
    }
}

/// The bytes behind a length.
fn content(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let (length, rest) = bytes
        .split_first_chunk::<LENGTH>()
        .ok_or(DecodeError::Truncated { need: LENGTH, have: bytes.len() })?;
    let length = u32::from_le_bytes(*length) as usize;
    rest.get(..length).ok_or(DecodeError::Length { claimed: length as u64, have: rest.len() })
}

impl KeyWire for Blob {
    #[inline(always)]
    fn with_bytes<R>(view: Self::View<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        f(view)
    }
    #[inline(always)]
    unsafe fn from_key_bytes(bytes: &[u8], _: Trust) -> Self::View<'_> {
        bytes
    }
    fn parse_key_bytes(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError> {
        Ok(bytes)
    }
    #[inline]
    fn append_key_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        append::<Self>(bytes, out);
    }
}

impl ListWire<u8> for Blob {
    #[inline(always)]
    fn of(items: &[u8]) -> Self::View<'_> {
        items
    }
    #[inline(always)]
    fn shorten<'short, 'long: 'short>(view: Self::View<'long>) -> Self::View<'short> {
        view
    }
    #[inline]
    fn to_vec(view: Self::View<'_>) -> Vec<u8> {
        view.to_vec()
    }
}

/// Texts: like [`Blob`], always valid UTF-8.
#[derive(Debug)]
pub struct Text;
impl Sealed for Text {}
impl Wire for Text {
    type View<'a> = &'a str;
    const FIXED: Option<usize> = None;
    const NAME: &'static str = "string";
    #[inline(always)]
    fn measure(view: Self::View<'_>, _: Levels) -> usize {
        LENGTH + view.len()
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        Blob::write(view.as_bytes(), room);
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: `write` put valid UTF-8 there, and `check` accepts nothing else.
        unsafe {
            let (bytes, size) = Blob::read(at, trust);
            (std::str::from_utf8_unchecked(bytes), size)
        }
    }
    #[inline]
    fn check(bytes: &[u8], _: Levels) -> Result<usize, DecodeError> {
        let content = content(bytes)?;
        std::str::from_utf8(content).map_err(|_| DecodeError::Utf8)?;
        Ok(LENGTH + content.len())
    }
}
impl KeyWire for Text {
    #[inline(always)]
    fn with_bytes<R>(view: Self::View<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        f(view.as_bytes())
    }
    #[inline(always)]
    unsafe fn from_key_bytes(bytes: &[u8], _: Trust) -> Self::View<'_> {
        // SAFETY: the key bytes of a text are its content, which is valid UTF-8.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
    fn parse_key_bytes(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError> {
        std::str::from_utf8(bytes).map_err(|_| DecodeError::Utf8)
    }
    #[inline]
    fn append_key_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        Blob::append_key_bytes(bytes, out);
    }
}
