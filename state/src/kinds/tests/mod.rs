//! Every kind of state against what it is made of in the standard library, over each backend.

mod edges;
mod histories;
mod rows;
mod subtasks;
mod timers;
mod ttl;

use super::*;
use crate::ordered::OrderedBackend;
use crate::{HeapOrdered, KeyGroupRange, PagedOrdered};
use std::time::Duration;
use subtasks::Subtasks;

/// A value that others are summed into.
struct Sum;

impl Reduce for Sum {
    type Value = u64;
    fn reduce(so_far: &mut u64, value: u64) {
        *so_far = so_far.wrapping_add(value);
    }
}

/// How many texts there were, and how long they were together.
struct Lengths;

impl Aggregate for Lengths {
    type In = String;
    type Accumulator = (u32, u64);
    type Out = String;
    fn add((count, sum): &mut (u32, u64), text: &str) {
        *count += 1;
        *sum += text.len() as u64;
    }
    fn result((count, sum): (u32, u64)) -> String {
        format!("{sum} in {count}")
    }
}

/// One state of each kind, with namespaces.
#[derive(Clone, Copy)]
struct Handles {
    value: Value<String, u32>,
    list: List<String, u32>,
    map: Map<String, u64, u32>,
    reducing: Reducing<Sum, u32>,
    aggregating: Aggregating<Lengths, u32>,
}

fn declare(ttl: Option<Ttl>) -> (Declarations<String>, Handles) {
    let mut all = Declarations::new();
    let off = Ttl { update: TtlUpdate::Disabled, ..Ttl::new(Duration::ZERO) };
    let ttl = ttl.unwrap_or(off);
    let handles = Handles {
        value: all.with_namespaces::<u32>().with_ttl(ttl).value("value"),
        list: all.with_namespaces::<u32>().with_ttl(ttl).list("list"),
        map: all.with_namespaces::<u32>().with_ttl(ttl).map("map"),
        reducing: all.with_namespaces::<u32>().with_ttl(ttl).reducing("reducing"),
        aggregating: all.with_namespaces::<u32>().with_ttl(ttl).aggregating("aggregating"),
    };
    (all, handles)
}

/// Makes what keeps a state.
type Make = fn(KeyGroupRange) -> Box<dyn OrderedBackend>;

/// Each of them.
const BACKENDS: [(&str, Make); 3] = [
    ("heap", |range| Box::new(HeapOrdered::new(range))),
    ("pages", |range| Box::new(PagedOrdered::new(range).small_up_to(0))),
    ("pages from some size on", |range| Box::new(PagedOrdered::new(range).small_up_to(2000))),
];
