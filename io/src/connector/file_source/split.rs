//! A split of a file source: a stretch of a file and how far it has been read.

use super::identity::Fingerprint;
use crate::record::{Field, Outer, Record, Schema, WireView, trusted};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where to go on reading one stretch of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSplit {
    /// The absolute path, in the operating system's bytes.
    pub(super) path: Vec<u8>,
    pub(super) inode: u64,
    pub(super) print: Fingerprint,
    /// The file's length when it was divided; [`FOLLOWED`] when the file is followed.
    pub(super) len: u64,
    /// The stretch holds the records that begin before this.
    pub(super) end: u64,
    /// All records that begin before this are done.
    pub(super) position: u64,
}

/// Length of a file that may always grow.
pub(super) const FOLLOWED: u64 = u64::MAX;

impl FileSplit {
    /// The absolute path of the file, as last seen.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// The byte behind the last record that was emitted, or where the stretch begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the split is of a source that follows its files.
    pub fn followed(&self) -> bool {
        self.len == FOLLOWED
    }

    /// Bytes that are left to be read.
    pub(super) fn left(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }
}

/// The bytes of a path.
pub(super) fn path_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// Where a file of `len` bytes is divided so that no part exceeds `part` bytes and the parts are equal.
pub(super) fn places(len: u64, part: u64) -> Vec<u64> {
    let parts = len.div_ceil(part.max(1)).max(1);
    (1..parts).map(|i| (u128::from(len) * u128::from(i) / u128::from(parts)) as u64).collect()
}

/// The splits of subtask `subtask` out of those of all: by size, largest first, each to the subtask with the least
/// bytes so far. A pure function of the whole list in any order, so that the parts of all subtasks fit together; they
/// differ by at most the largest split.
pub(super) fn share(mut splits: Vec<FileSplit>, subtask: usize, parallelism: usize) -> Vec<FileSplit> {
    splits.sort_unstable_by(|a, b| (b.left(), &a.path, a.position).cmp(&(a.left(), &b.path, b.position)));
    let mut bytes = vec![0u64; parallelism];
    let mut mine = Vec::new();
    for split in splits {
        let least = (0..parallelism).min_by_key(|i| bytes[*i]).unwrap_or(0);
        // One more, so that files without content are spread as well.
        bytes[least] = bytes[least].saturating_add(split.left()).saturating_add(1);
        if least == subtask {
            mine.push(split);
        }
    }
    // Files from front to back.
    mine.sort_unstable_by(|a, b| (&a.path, a.position).cmp(&(&b.path, b.position)));
    mine
}

/// The view of a [`FileSplit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSplitRef<'a> {
    path: &'a [u8],
    inode: u64,
    print: Fingerprint,
    len: u64,
    end: u64,
    position: u64,
}

/// What a [`FileSplit`] is written as.
type Parts = (Vec<u8>, u64, u32, u64, u64, u64, u64);

impl Record for FileSplit {
    type Ref<'a> = FileSplitRef<'a>;
    type Wire = <Parts as Record>::Wire;
    type List = trusted::List<Self>;

    fn view(&self) -> FileSplitRef<'_> {
        let Self { path, inode, print, len, end, position } = self;
        FileSplitRef { path, inode: *inode, print: *print, len: *len, end: *end, position: *position }
    }

    fn own(view: FileSplitRef<'_>) -> Self {
        let FileSplitRef { path, inode, print, len, end, position } = view;
        Self { path: path.to_vec(), inode, print, len, end, position }
    }

    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view
    }

    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        let FileSplitRef { path, inode, print, len, end, position } = view;
        Parts::to_wire((path, inode, print.len, print.hash, len, end, position))
    }

    fn from_wire(wire: WireView<'_, Self>) -> FileSplitRef<'_> {
        let (path, inode, print_len, hash, len, end, position) = Parts::from_wire(wire);
        FileSplitRef { path, inode, print: Fingerprint { len: print_len, hash }, len, end, position }
    }

    fn describe(outer: &mut Outer) -> Schema {
        outer.record::<Self>("FileSplit", |outer| {
            vec![
                Field::of::<Vec<u8>>("path", outer),
                Field::of::<u64>("inode", outer),
                Field::of::<u32>("fingerprint_len", outer),
                Field::of::<u64>("fingerprint_hash", outer),
                Field::of::<u64>("len", outer),
                Field::of::<u64>("end", outer),
                Field::of::<u64>("position", outer),
            ]
        })
    }
}

impl FileSplit {
    /// A split of a file that was found at `path`.
    pub(super) fn new(path: &Path, inode: u64, print: Fingerprint, len: u64) -> Self {
        Self { path: path_bytes(path), inode, print, len, end: len, position: 0 }
    }

    /// The path, owned.
    pub(super) fn path_buf(&self) -> PathBuf {
        self.path().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Row;
    use proptest::prelude::*;

    fn split(path: &str, position: u64, end: u64) -> FileSplit {
        let print = Fingerprint::of(b"x");
        FileSplit { path: path.into(), inode: 1, print, len: 1 << 40, end, position }
    }

    #[test]
    fn a_split_round_trips() {
        let split = split("/a\u{fffd}/b", 3, 9);
        let bytes = FileSplit::encode(split.view());
        assert_eq!(FileSplit::own(Row::<FileSplit>::parse(&bytes).unwrap().view()), split);
    }

    #[test]
    fn ten_bytes_in_parts_of_at_most_four_are_divided_at_3_and_6() {
        assert_eq!(places(10, 4), [3, 6]);
        assert_eq!(places(4, 4), []);
        assert_eq!(places(0, 4), []);
        assert_eq!(places(8, 4), [4]);
    }

    proptest! {
        #[test]
        fn shares_are_disjoint_complete_and_within_the_largest_split(
            sizes in prop::collection::vec(0u64..1000, 0..40), parallelism in 1usize..7,
        ) {
            let all: Vec<_> = sizes.iter().enumerate().map(|(i, n)| split(&format!("/{i}"), 0, *n)).collect();
            let mut seen = Vec::new();
            let mut loads = Vec::new();
            for subtask in 0..parallelism {
                let mut list = all.clone();
                // Every subtask may see another order.
                list.rotate_left(subtask % all.len().max(1));
                let mine = share(list, subtask, parallelism);
                loads.push(mine.iter().map(|split| split.left() + 1).sum::<u64>());
                seen.extend(mine);
            }
            seen.sort_by(|a, b| a.path.cmp(&b.path));
            let mut want = all;
            want.sort_by(|a, b| a.path.cmp(&b.path));
            prop_assert_eq!(seen, want);
            let spread = loads.iter().max().unwrap() - loads.iter().min().unwrap();
            prop_assert!(spread <= sizes.iter().max().map_or(0, |n| n + 1), "{:?}", loads);
        }
    }
}
