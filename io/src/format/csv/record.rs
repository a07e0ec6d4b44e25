//! A CSV record together with the place it stood at.

use super::fields::{Fields, fields};
use crate::record::{Field, Outer, Record, Schema, WireView, trusted};

/// A record of a CSV file: its bytes without the line end, and where they stood, so that an operator far behind the
/// source can name the place of what it cannot use (ruling 27).
///
/// The line number is not part of it: it is counted when it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvLine {
    /// The inode of the file: names it without a path in every record, and survives its renaming.
    pub file: u64,
    /// Where in the file the record begins, in bytes.
    pub offset: u64,
    /// The record's own bytes, quotes and all.
    pub line: Vec<u8>,
}

/// The view of a [`CsvLine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvLineRef<'a> {
    /// The inode of the file.
    pub file: u64,
    /// Where in the file the record begins, in bytes.
    pub offset: u64,
    /// The record's own bytes, quotes and all.
    pub line: &'a [u8],
}

impl<'a> CsvLineRef<'a> {
    /// The fields of the record.
    pub fn fields(self) -> Fields<'a> {
        fields(self.line)
    }
}

/// What a [`CsvLine`] is written as.
type Parts = (u64, u64, Vec<u8>);

impl Record for CsvLine {
    type Ref<'a> = CsvLineRef<'a>;
    type Wire = <Parts as Record>::Wire;
    type List = trusted::List<Self>;

    #[inline(always)]
    fn view(&self) -> CsvLineRef<'_> {
        CsvLineRef { file: self.file, offset: self.offset, line: &self.line }
    }

    fn own(view: CsvLineRef<'_>) -> Self {
        Self { file: view.file, offset: view.offset, line: view.line.to_owned() }
    }

    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view
    }

    #[inline(always)]
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        Parts::to_wire((view.file, view.offset, view.line))
    }

    #[inline(always)]
    fn from_wire(wire: WireView<'_, Self>) -> CsvLineRef<'_> {
        let (file, offset, line) = Parts::from_wire(wire);
        CsvLineRef { file, offset, line }
    }

    fn describe(outer: &mut Outer) -> Schema {
        outer.record::<Self>("CsvLine", |outer| {
            vec![
                Field::of::<u64>("file", outer),
                Field::of::<u64>("offset", outer),
                Field::of::<Vec<u8>>("line", outer),
            ]
        })
    }
}
