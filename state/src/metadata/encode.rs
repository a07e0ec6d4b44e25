//! Metadata to bytes; the layout stands in `docs/format.md`.

use super::{
    Handle, KeyedHandle, LineCounters, ListHandle, Metadata, OperatorState, SnapshotFormat, SnapshotKind,
    SubtaskState,
};
use crate::codec::Encoder;
use crate::descriptor::{Backend, Layout, ListDescriptor, StateDescriptor, StateKind};
use crate::frame::{self, FileKind};
use millstream_io::record::SchemaError;
use millstream_io::source::Redistribution;
use std::collections::HashMap;
use std::sync::Arc;

/// How a `_metadata` file begins.
pub(super) const KIND: FileKind = FileKind { magic: *b"MILLMETA", version: 4 };

type Done = Result<(), SchemaError>;

pub(super) const INLINE: u8 = 0;
pub(super) const FILE: u8 = 1;
/// The tag of a backend whose name follows.
pub(super) const OWN: u8 = 2;

impl Metadata {
    /// The content of the `_metadata` file.
    ///
    /// # Errors
    /// The type of a state cannot be described within the limits of [`SchemaError`].
    ///
    /// # Panics
    /// When a handle names a file that is not in [`Metadata::files`].
    pub fn encode(&self) -> Result<Vec<u8>, SchemaError> {
        let numbers = self.files.iter().zip(0u32..).map(|(file, n)| (Arc::clone(&file.name), n)).collect();
        let mut body = Body { out: Encoder::default(), numbers };
        body.metadata(self)?;
        Ok(frame::seal(KIND, &body.out.bytes))
    }
}

pub(super) fn kind_tag(kind: SnapshotKind) -> u8 {
    match kind {
        SnapshotKind::Checkpoint => 0,
        SnapshotKind::Final => 1,
        SnapshotKind::Savepoint => 2,
    }
}

pub(super) fn format_tag(format: SnapshotFormat) -> u8 {
    match format {
        SnapshotFormat::Native => 0,
        SnapshotFormat::Canonical => 1,
    }
}

pub(super) fn state_kind_tag(kind: StateKind) -> u8 {
    match kind {
        StateKind::Value => 0,
        StateKind::Reducing => 1,
        StateKind::Aggregating => 2,
        StateKind::List => 3,
        StateKind::Map => 4,
        StateKind::EventTimers => 5,
        StateKind::ProcessingTimers => 6,
    }
}

pub(super) fn backend_tag(backend: Backend) -> u8 {
    match backend {
        Backend::Hashmap => 0,
        Backend::Paged => 1,
        Backend::Own(_) => OWN,
        Backend::Canonical => 3,
    }
}

pub(super) fn layout_tag(layout: Layout) -> u8 {
    match layout {
        Layout::Hashed => 0,
        Layout::Ordered => 1,
    }
}

pub(super) fn redistribution_tag(redistribution: Redistribution) -> u8 {
    match redistribution {
        Redistribution::EvenSplit => 0,
        Redistribution::Union => 1,
    }
}

struct Body {
    out: Encoder,
    numbers: HashMap<Arc<str>, u32>,
}

impl Body {
    fn many<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) {
        self.out.count(all.len());
        for part in all {
            one(self, part);
        }
    }

    fn try_many<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T) -> Done) -> Done {
        self.out.count(all.len());
        all.iter().try_for_each(|part| one(self, part))
    }

    fn metadata(&mut self, m: &Metadata) -> Done {
        self.out.u64(m.checkpoint.0);
        self.out.u8(kind_tag(m.kind));
        self.out.u8(format_tag(m.format));
        self.out.u128(m.job.to_bits());
        self.out.text(&m.job_name);
        self.out.u64(m.line);
        self.out.u64(m.trigger_ms);
        self.out.u64(m.completed_ms);
        self.counters(m.counters);
        self.many(&m.files, |body, file| {
            body.out.text(&file.name);
            body.out.u64(file.len);
            body.out.u32(file.crc);
        });
        self.try_many(&m.operators, Self::operator)
    }

    fn counters(&mut self, c: LineCounters) {
        for count in [c.records_in, c.records_out, c.records_late, c.records_rejected] {
            self.out.u64(count);
        }
    }

    fn operator(&mut self, operator: &OperatorState) -> Done {
        self.out.u128(operator.id.to_bits());
        self.out.u8(u8::from(operator.uid.is_some()));
        if let Some(uid) = &operator.uid {
            self.out.text(uid);
        }
        self.out.text(&operator.name);
        self.out.u32(operator.max_parallelism);
        self.try_many(&operator.states, Self::state)?;
        self.try_many(&operator.lists, Self::list)?;
        self.many(&operator.subtasks, Self::subtask);
        Ok(())
    }

    fn state(&mut self, state: &StateDescriptor) -> Done {
        self.out.text(&state.name);
        self.out.u8(state_kind_tag(state.kind));
        self.out.blob(&state.key.encode()?);
        self.out.blob(&state.value.encode()?);
        self.out.u8(backend_tag(state.backend));
        if let Backend::Own(name) = &state.backend {
            self.out.text(name.as_str());
        }
        self.out.u8(layout_tag(state.layout));
        self.out.u8(u8::from(state.ttl));
        self.out.u8(u8::from(state.namespace.is_some()));
        if let Some(namespace) = &state.namespace {
            self.out.blob(&namespace.encode()?);
        }
        Ok(())
    }

    fn list(&mut self, list: &ListDescriptor) -> Done {
        self.out.text(&list.name);
        self.out.u8(redistribution_tag(list.redistribution));
        self.out.blob(&list.element.encode()?);
        Ok(())
    }

    fn subtask(&mut self, subtask: &SubtaskState) {
        self.out.u8(u8::from(subtask.finished));
        self.many(&subtask.keyed, Self::keyed_handle);
        self.many(&subtask.lists, Self::list_handle);
    }

    fn keyed_handle(&mut self, keyed: &KeyedHandle) {
        self.out.u16(keyed.state);
        self.handle(&keyed.data);
        self.many(&keyed.groups, |body, group| {
            body.out.u16(group.group.0);
            body.out.u64(group.entries);
            body.out.u64(group.len);
            body.out.u32(group.crc);
        });
    }

    fn list_handle(&mut self, list: &ListHandle) {
        self.out.u16(list.list);
        self.out.u64(list.elements);
        self.out.u32(list.crc);
        self.handle(&list.data);
    }

    fn handle(&mut self, handle: &Handle) {
        match handle {
            Handle::Inline(bytes) => {
                self.out.u8(INLINE);
                self.out.blob(bytes);
            }
            Handle::File { name, offset, len } => {
                let number =
                    self.numbers.get(name).copied().expect("a handle names a file of the checkpoint");
                self.out.u8(FILE);
                self.out.u32(number);
                self.out.u64(*offset);
                self.out.u64(*len);
            }
        }
    }
}
