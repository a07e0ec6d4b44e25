//! `broadcast`: every record goes to every downstream subtask.

use super::Lane;
use super::stage::{flush_all, put_on_all, ready_all};
use crate::error::Error;
use crate::operator::{Control, Signal};
use millstream_io::emit::Emit;
use millstream_io::record::{Record, Row};

/// Puts each record on all lanes.
pub(crate) struct Broadcast<T: Record> {
    lanes: Vec<Lane<T>>,
}

impl<T: Record> Broadcast<T> {
    pub(crate) fn new(lanes: Vec<Lane<T>>) -> Self {
        Self { lanes }
    }
}

impl<T: Record> Emit<T> for Broadcast<T> {
    fn is_full(&self) -> bool {
        self.lanes.iter().any(Lane::is_full)
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        for lane in &mut self.lanes {
            lane.push(0, record);
        }
    }

    #[inline(always)]
    fn emit_row(&mut self, row: Row<'_, T>) {
        for lane in &mut self.lanes {
            lane.push_row(0, row);
        }
    }
}

impl<T: Record> Control for Broadcast<T> {
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
