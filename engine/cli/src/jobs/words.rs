//! Words of a line. Pure.

/// The words of a line: runs of bytes other than space, tab, CR, LF, VT, FF.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_bytes_between_the_six_kinds_of_space() {
        let found: Vec<&[u8]> = words(b"\x0b to\tbe\x0c\xffor\r\n  not,\x00to \r").collect();
        assert_eq!(found, [b"to".as_slice(), b"be", b"\xffor", b"not,\x00to"]);
        assert_eq!(words(b"").count() + words(b" \t ").count(), 0);
        // A no-break space in UTF-8 is no space.
        assert_eq!(words("a\u{a0}b".as_bytes()).count(), 1);
    }
}
