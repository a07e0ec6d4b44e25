//! The end of a chain that leads on to other subtasks.

use super::block::Block;
use super::{Event, Lane, Route};
use crate::error::Error;
use crate::operator::{Control, Signal};
use millstream_io::emit::Emit;
use millstream_io::record::{Record, Row};
use millstream_io::segment::Segment;

/// Routes records into lanes; puts events on all of them.
pub(crate) struct Exchange<T: Record, R> {
    lanes: Vec<Lane<T>>,
    route: R,
    block: Block<T>,
}

impl<T: Record, R: Route<T>> Exchange<T, R> {
    pub(crate) fn new(lanes: Vec<Lane<T>>, route: R) -> Self {
        Self { lanes, route, block: Block::new() }
    }
}

impl<T: Record, R: Route<T>> Emit<T> for Exchange<T, R> {
    fn is_full(&self) -> bool {
        self.lanes.iter().any(Lane::is_full)
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        let (lane, hash) = self.route.route(record);
        self.lanes[lane].push(hash, record);
    }

    #[inline(always)]
    fn emit_row(&mut self, row: Row<'_, T>) {
        let (lane, hash) = self.route.route(row.view());
        self.lanes[lane].push_row(hash, row);
    }

    #[inline(always)]
    fn emit_all<I: Iterator<Item = T>>(&mut self, mut records: I) {
        let Self { lanes, route, block } = self;
        if Segment::<T>::HASHED {
            for record in records {
                let (lane, hash) = route.route(record.view());
                if lanes[lane].push(hash, record.view()) && lanes[lane].is_full() {
                    return;
                }
            }
        } else if let [only] = &mut lanes[..] {
            only.extend(&mut records);
        } else if R::MANY && Block::<T>::SUITS {
            block.route_all(&mut records, route, lanes);
        } else {
            for record in records {
                let (lane, _) = route.route(record.view());
                if lanes[lane].push(0, record.view()) && lanes[lane].is_full() {
                    return;
                }
            }
        }
    }
}

impl<T: Record, R> Control for Exchange<T, R> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        put_on_all(&mut self.lanes, signal);
        Ok(())
    }

    fn flush(&mut self) -> bool {
        flush_all(&mut self.lanes)
    }

    fn ready(&mut self) -> bool {
        ready_all(&mut self.lanes)
    }
}

/// Signals that leave the subtask become events of every lane.
pub(super) fn put_on_all<T: Record>(lanes: &mut [Lane<T>], signal: &Signal<'_>) {
    let event = match signal {
        Signal::Barrier(barrier, _) => Event::Barrier(*barrier),
        Signal::Cancel(id) => Event::Cancel(*id),
        Signal::Round(round) => Event::Round(*round),
        Signal::End | Signal::AlreadyEnded => Event::End,
        Signal::Close => Event::Close,
        _ => return,
    };
    for lane in lanes {
        lane.event(event);
    }
}

pub(super) fn flush_all<T: Record>(lanes: &mut [Lane<T>]) -> bool {
    lanes.iter_mut().fold(false, |any, lane| lane.flush() | any)
}

pub(super) fn ready_all<T: Record>(lanes: &mut [Lane<T>]) -> bool {
    lanes.iter_mut().fold(true, |all, lane| lane.ready() & all)
}
