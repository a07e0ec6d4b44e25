//! The engine's log on stderr: warnings, one line each.

use crate::say::say;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Writes what happens to stderr.
#[derive(Debug)]
struct Stderr {
    spans: AtomicU64,
}

/// Makes this process log to stderr. A later call changes nothing.
pub fn to_stderr() {
    // Fails when the embedding program has set up logging of its own, which is then the one that counts.
    let _ = tracing::subscriber::set_global_default(Stderr { spans: AtomicU64::new(1) });
}

impl Subscriber for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What is worse ends the job, and is reported as its end, once.
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed).max(1))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        say(line.finish());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event as one line: `warning: message, field=value`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, ", {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl Line {
    fn finish(self) -> String {
        format!("warning: {}{}", self.message, self.fields).replace(['\n', '\r'], " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Kept(Mutex<Vec<String>>);

    impl Subscriber for &'static Kept {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut line = Line::default();
            event.record(&mut line);
            self.0.lock().unwrap().push(line.finish());
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn an_event_is_one_line_with_its_fields() {
        let kept: &'static Kept = Box::leak(Box::new(Kept(Mutex::new(Vec::new()))));
        tracing::subscriber::with_default(kept, || {
            tracing::warn!(id = 7, path = "a\nb", "checkpoint failed");
        });
        assert_eq!(*kept.0.lock().unwrap(), ["warning: checkpoint failed, id=7, path=a b"]);
    }
}
