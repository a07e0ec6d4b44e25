//! The canonical form of a key group.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn put(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [key, value] {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend(part);
    }
}

fn written(all: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    let mut writer = Writer::new(0);
    all.iter().for_each(|(key, value)| writer.add(key, |out| put(key, value, out)));
    writer.finish()
}

/// Every byte, as `docs/format.md` has them.
#[test]
fn sp_03_the_layout_is_the_documented_one() {
    let mut writer = Writer::new(0);
    writer.add(b"a", |out| out.extend([1; 64]));
    writer.add(b"bc", |out| out.extend([2; 3]));
    let bytes = writer.finish();
    let mut expected = crc32fast::hash(&[1; 64]).to_le_bytes().to_vec();
    expected.extend([1; 64]);
    expected.extend(crc32fast::hash(&[2; 3]).to_le_bytes());
    expected.extend([2; 3]);
    let index = expected.len();
    expected.extend(b"\x40\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0a");
    expected.extend(b"\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0bc");
    expected.extend(43u64.to_le_bytes());
    expected.extend(crc32fast::hash(&expected[index..]).to_le_bytes());
    assert_eq!(bytes, expected);
    assert_eq!(Writer::new(0).finish().len(), TRAILER);
}

/// MS-073: with the checksum of the whole right, a changed byte is an error, or a byte of entries that is noticed by its block.
#[test]
fn ms_073_a_changed_byte_is_noticed_by_the_checksum_of_its_part() {
    let all = (0..40u8).map(|n| (vec![n], vec![n; 5])).collect();
    let bytes = written(&all);
    assert_eq!(verified(&bytes).unwrap().len(), 40usize.div_ceil(64usize.div_ceil(14)));
    for at in 0..bytes.len() {
        for flip in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            assert!(verified(&changed).is_err(), "byte {at}");
        }
        assert!(verified(&bytes[..at]).is_err(), "cut to {at}");
    }
}

/// Builds an index around other fields: its checksum is right.
fn with_index(index: &[u8], claimed: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4 + 10];
    let begin = bytes.len();
    bytes.extend(index);
    bytes.extend(claimed.to_le_bytes());
    let crc = crc32fast::hash(&bytes[begin..]);
    bytes.extend(crc.to_le_bytes());
    bytes
}

#[test]
fn ms_073_an_index_that_does_not_fit_is_refused_by_its_field() {
    let block = |len: u64, first: &[u8]| {
        let mut index = Encoder::default();
        index.u64(len);
        index.u64(1);
        index.blob(first);
        index.bytes
    };
    let field = |bytes: &[u8]| match whole(bytes) {
        Err(FormatError::Field { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    let one = block(10, b"k");
    assert!(whole(&with_index(&one, one.len() as u64)).is_ok());
    for len in [9, 11, u64::MAX, u64::MAX - 4] {
        assert_eq!(field(&with_index(&block(len, b"k"), one.len() as u64)), "length of a block");
    }
    let two = [block(1, b"k"), block(1, b"k")].concat();
    assert_eq!(field(&with_index(&two, two.len() as u64)), "first key of a block");
    assert_eq!(field(&with_index(&one, u64::MAX)), "length of an index");
    assert_eq!(field(&with_index(&one, 1000)), "length of an index");
    assert!(whole(&with_index(&one, 3)).is_err());
    assert!(whole(&[0; 11]).is_err());
}

proptest! {
    #[test]
    fn sp_03_what_was_written_is_read_in_order(all in prop::collection::btree_map(any::<Vec<u8>>(), any::<Vec<u8>>(), 0..60)) {
        let bytes = written(&all);
        let mut expected = Vec::new();
        all.iter().for_each(|(key, value)| put(key, value, &mut expected));
        let blocks = verified(&bytes).unwrap();
        prop_assert_eq!(blocks.iter().map(|(block, _)| block.entries).sum::<u64>(), all.len() as u64);
        for (block, entries) in &blocks {
            prop_assert!(all.contains_key(block.first));
            prop_assert!(entries[4..].starts_with(block.first));
        }
        let mut left = bytes.clone();
        leave_entries(&mut left).unwrap();
        prop_assert_eq!(left, expected);
    }

    #[test]
    fn ms_073_any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = (verified(&bytes), leave_entries(&mut bytes.clone()), blocks(&bytes, 1000), index_len(&bytes, 1000));
    }
}
