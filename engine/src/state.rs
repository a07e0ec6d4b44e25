//! The kinds of state of a [`KeyedFunction`](crate::KeyedFunction), and its timers.

pub use millstream_state::kinds::{
    Aggregate, Aggregating, AggregatingView, Declarations, Declare, Elements, LIST_BYTES, LIST_ELEMENT, List,
    ListView, Map, MapEntries, MapView, Reduce, Reducing, ReducingView, Scope, Timer, TimerKind, Timers,
    TimersView, Ttl, TtlUpdate, TtlVisibility, Value, ValueView,
};

// What a backend of one's own is made of.
pub use millstream_state::descriptor::BackendName;
pub use millstream_state::keyed::{Chunk, Extent, GroupChunk};
pub use millstream_state::ordered::OrderedEntry;
pub use millstream_state::paged::PagedFault;
pub use millstream_state::{
    BackendFactory, HeapOrdered, KeyGroup, KeyGroupRange, KeyedSnapshot, OrderedBackend, RestoreError,
    Snapshots, StateDescriptor,
};
