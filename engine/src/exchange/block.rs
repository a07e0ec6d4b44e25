//! A block of records on its way into lanes, so that what chooses the lane works on many at once.

use super::{Lane, Route};
use millstream_io::record::{Record, Wire};
use millstream_io::segment::{Segment, Writer};

/// Most records of a block.
const ROWS: usize = 128;

/// Bytes of a block, about: it is written and read again at once, so it should stay near the core.
const BYTES: usize = 4096;

/// Encoded records of one size, with the lane of each.
pub(super) struct Block<T: Record> {
    rows: Writer<T>,
    halves: [u32; ROWS],
    lanes: [u32; ROWS],
}

impl<T: Record> Block<T> {
    /// Bytes of a record; none where records differ.
    const SIZE: Option<usize> = T::Wire::FIXED;

    /// Whether records are of one size, and small: what is spared is little beside the copying of a large one.
    pub(super) const SUITS: bool = matches!(Self::SIZE, Some(size) if size <= BYTES / 16);

    /// Records of a block.
    const MOST: usize = match Self::SIZE {
        Some(size) if size > BYTES / ROWS => BYTES / size,
        _ => ROWS,
    };

    pub(super) fn new() -> Self {
        Self { rows: Writer::closed(), halves: [0; ROWS], lanes: [0; ROWS] }
    }

    /// Moves records into lanes, until there are no more or there is overdraft.
    #[inline(always)]
    pub(super) fn route_all<R: Route<T>>(
        &mut self,
        records: &mut impl Iterator<Item = T>,
        route: &mut R,
        lanes: &mut [Lane<T>],
    ) {
        if self.rows.is_closed() {
            self.rows.open(Segment::new(Self::MOST * Self::SIZE.map_or(1, |size| size.max(1))));
        }
        loop {
            let rows = self.collect(records, route);
            let full = self.distribute(route, lanes);
            if full || rows < Self::MOST {
                return;
            }
        }
    }

    /// Takes up to a block of records in. How many?
    #[inline(always)]
    fn collect<R: Route<T>>(&mut self, records: &mut impl Iterator<Item = T>, route: &mut R) -> usize {
        let (halves, mut at) = (&mut self.halves, 0);
        let mut hashed = records.inspect(|record| {
            halves[at % ROWS] = (route.hash(record.view()) >> 32) as u32;
            at += 1;
        });
        self.rows.fill_some(&mut hashed, Self::MOST)
    }

    /// Moves the block's records into their lanes. Is there overdraft now?
    #[inline(always)]
    fn distribute<R: Route<T>>(&mut self, route: &R, lanes: &mut [Lane<T>]) -> bool {
        let Some(block) = self.rows.close() else { return false };
        let marks = &mut self.lanes[..block.rows()];
        route.lanes(&self.halves[..block.rows()], marks);
        match &mut *lanes {
            [first, second] => Lane::deal(first, second, &block, marks),
            lanes => {
                for (row, lane) in block.iter_from(0).zip(marks) {
                    lanes[*lane as usize].push_row(0, row);
                }
            }
        }
        self.rows.open(block);
        lanes.iter().any(Lane::is_full)
    }
}
