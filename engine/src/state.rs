//! The kinds of state of a [`KeyedFunction`](crate::KeyedFunction), and its timers.

pub use millstream_state::kinds::{
    Aggregate, Aggregating, AggregatingView, Declarations, Declare, Elements, LIST_BYTES, LIST_ELEMENT, List,
    ListView, Map, MapEntries, MapView, Reduce, Reducing, ReducingView, Scope, Timer, TimerKind, Timers,
    TimersView, Ttl, TtlUpdate, TtlVisibility, Value, ValueView,
};
