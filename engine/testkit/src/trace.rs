//! Tells a run's story on standard error, for a seed that is looked into: `MILLSTREAM_TRACE=1`.

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Whether stories are asked for.
pub(crate) fn wanted() -> bool {
    std::env::var_os("MILLSTREAM_TRACE").is_some()
}

/// Runs `f`, printing the engine's events.
pub(crate) fn told<R>(f: impl FnOnce() -> R) -> R {
    tracing::subscriber::with_default(Teller(AtomicU64::new(1)), f)
}

struct Teller(AtomicU64);

/// Longer values are cut.
const WIDTH: usize = 240;

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value: String = format!("{value:?}").chars().take(WIDTH).collect();
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, " {value}")
        } else {
            write!(self.0, " {field}={value}")
        };
    }
}

impl Subscriber for Teller {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        eprintln!("   {}", line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
