//! `keyed-sum` by hand: two pinned threads that each generate, route, and sum what is theirs.
//!
//! Every record is routed by index into a 32 KiB buffer, the thread's own included, so there is no branch on the
//! owner. Tables are flat, one slot of 16 bytes a key, linear probing; prefetched 16 records ahead where they outgrow
//! the second-level cache.

use crate::input::{Keyed, Timed};
use crate::pin;
use crate::workload::Outcome;
use millstream_io::prefetch::prefetch_index;
use std::sync::Arc;

type Record = (u64, u64);

const BUFFER: usize = 32 * 1024 / size_of::<Record>();
const RING: usize = 16;
const AHEAD: usize = 16;
/// Records that a thread generates before it looks at its input.
const BATCH: u64 = 2048;
/// Bytes of table from which on prefetching pays.
const BIG: usize = 512 * 1024;

#[inline(always)]
fn hash(key: u64) -> u64 {
    key.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A flat table of sums.
struct Table {
    slots: Vec<Record>,
    /// The index is the hash below its top bit, which routes, shifted by this.
    shift: u32,
    used: usize,
}

const FREE: u64 = u64::MAX;

impl Table {
    fn new(bits: u32) -> Self {
        Self { slots: vec![(FREE, 0); 1 << bits], shift: 64 - bits, used: 0 }
    }

    #[inline(always)]
    fn index(&self, key: u64) -> usize {
        ((hash(key) << 1) >> self.shift) as usize
    }

    #[inline(always)]
    fn add(&mut self, key: u64, value: u64) {
        let mask = self.slots.len() - 1;
        let mut at = self.index(key);
        loop {
            let slot = &mut self.slots[at & mask];
            if slot.0 == key {
                slot.1 = slot.1.wrapping_add(value);
                return;
            }
            if slot.0 == FREE {
                return self.insert(key, value);
            }
            at += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, key: u64, value: u64) {
        if self.used * 5 >= self.slots.len() * 3 {
            let grown = Self::new(self.slots.len().trailing_zeros() + 1);
            let old = std::mem::replace(self, grown);
            for (key, sum) in old.slots {
                if key != FREE {
                    self.insert(key, sum);
                }
            }
        }
        let mask = self.slots.len() - 1;
        let mut at = self.index(key);
        while self.slots[at & mask].0 != FREE {
            at += 1;
        }
        self.slots[at & mask] = (key, value);
        self.used += 1;
    }

    fn add_all(&mut self, records: &[Record]) {
        if size_of_val(self.slots.as_slice()) < BIG {
            records.iter().for_each(|(key, value)| self.add(*key, *value));
            return;
        }
        for (i, (key, value)) in records.iter().enumerate() {
            let next = records[(i + AHEAD).min(records.len() - 1)].0;
            prefetch_index(&self.slots, self.index(next));
            self.add(*key, *value);
        }
    }
}

/// An open buffer, filled up to `len`.
struct Lane {
    buffer: Box<[Record; BUFFER]>,
    len: usize,
}

impl Lane {
    fn new() -> Self {
        Self { buffer: Box::new([(0, 0); BUFFER]), len: 0 }
    }
}

/// What goes to the other thread; a buffer and how far it is filled.
type Full = (Box<[Record; BUFFER]>, usize);

struct Worker {
    me: usize,
    lanes: [Lane; 2],
    table: Table,
    to_other: rtrb::Producer<Full>,
    from_other: rtrb::Consumer<Full>,
    /// Emptied buffers; what came from the other thread is filled here and goes back.
    pool: Vec<Box<[Record; BUFFER]>>,
    ended: bool,
}

impl Worker {
    #[inline(always)]
    fn route(&mut self, (key, value): Record) {
        let to = (hash(key) >> 63) as usize;
        let lane = &mut self.lanes[to];
        lane.buffer[lane.len % BUFFER] = (key, value);
        lane.len += 1;
        if lane.len == BUFFER {
            self.flush(to);
        }
    }

    #[cold]
    #[inline(never)]
    fn flush(&mut self, to: usize) {
        let next = self.pool.pop().map_or_else(Lane::new, |buffer| Lane { buffer, len: 0 });
        let lane = std::mem::replace(&mut self.lanes[to], next);
        if to == self.me {
            self.table.add_all(&lane.buffer[..lane.len]);
            self.pool.push(lane.buffer);
            return;
        }
        let mut full = (lane.buffer, lane.len);
        let mut spin = pin::Spin::default();
        while let Err(rtrb::PushError::Full(back)) = self.to_other.push(full) {
            full = back;
            // The other thread may be waiting for room in turn.
            if !self.take() {
                spin.once();
            }
        }
    }

    /// Works on one buffer of the other thread, if there is one.
    #[inline(never)]
    fn take(&mut self) -> bool {
        let Ok((buffer, len)) = self.from_other.pop() else { return false };
        self.table.add_all(&buffer[..len]);
        self.ended |= len == 0;
        self.pool.push(buffer);
        true
    }

    fn run(mut self, input: Keyed, timed: &Timed) -> Table {
        let share = input.records() / 2;
        let (mut at, end) = (share * self.me as u64, share * (self.me as u64 + 1));
        while at < end {
            let to = end.min(at + BATCH);
            for i in at..to {
                if input.begins(i) {
                    timed.begin();
                }
                self.route(input.record(i));
            }
            at = to;
            while self.take() {}
        }
        self.flush(0);
        self.flush(1);
        // An empty buffer says that nothing follows.
        if self.lanes[1 - self.me].len == 0 {
            self.flush(1 - self.me);
        }
        let mut spin = pin::Spin::default();
        while !self.ended {
            if !self.take() {
                spin.once();
            }
        }
        timed.end();
        self.table
    }
}

/// Sums values per key.
///
/// # Errors
/// When a thread panicked.
pub fn run(input: Keyed) -> Result<Outcome, String> {
    let cores = pin::cores();
    let timed = Arc::new(Timed::default());
    let (to_second, from_first) = rtrb::RingBuffer::new(RING);
    let (to_first, from_second) = rtrb::RingBuffer::new(RING);
    let threads = [(to_second, from_second), (to_first, from_first)].into_iter().enumerate();
    let threads: Vec<_> = threads
        .map(|(me, (to_other, from_other))| {
            let timed = Arc::clone(&timed);
            pin::on(&cores, me, move || {
                let lanes = [Lane::new(), Lane::new()];
                let (table, pool) = (Table::new(10), Vec::new());
                Worker { me, lanes, table, to_other, from_other, pool, ended: false }.run(input, &timed)
            })
        })
        .collect();
    let mut tables = Vec::new();
    for thread in threads {
        tables.push(thread.join().map_err(|_| "a thread panicked")?);
    }
    let seconds = timed.seconds()?;
    let used = tables.iter().flat_map(|table| table.slots.iter().filter(|slot| slot.0 != FREE));
    let (mut keys, mut sum, mut mixed) = (0, 0u64, 0u64);
    for (key, value) in used {
        keys += 1;
        sum = sum.wrapping_add(*value);
        mixed = mixed.wrapping_add(crate::input::mix(*key).wrapping_mul(*value));
    }
    Ok(Outcome::rate(input.timed, seconds, vec![("keys", keys), ("sum", sum), ("per key", mixed)]))
}
