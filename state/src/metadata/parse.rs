//! Bytes to metadata, checked: whatever the bytes are, the answer is metadata whose parts fit together, or an error
//! that names the field (ER-06). No part is believed because a checksum is right.

use super::encode::{
    FILE, INLINE, KIND, OWN, backend_tag, format_tag, kind_tag, layout_tag, redistribution_tag,
    state_kind_tag,
};
use super::{
    FileEntry, GroupForm, GroupRange, Handle, KeyedHandle, LineCounters, ListHandle, Metadata, OperatorState,
    SHARED_FILE, SnapshotFormat, SnapshotKind, SubtaskState,
};
use crate::codec::Cursor;
use crate::descriptor::{Backend, BackendName, Layout, ListDescriptor, StateDescriptor, StateKind};
use crate::error::FormatError;
use crate::frame;
use crate::job_id::JobId;
use crate::key_group::{KeyGroup, KeyGroupRange, Parallelism};
use crate::operator_id::OperatorId;
use millstream_io::Schema;
use millstream_io::id::CheckpointId;
use millstream_io::source::Redistribution;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

type Result<T> = std::result::Result<T, FormatError>;

// The fewest bytes that a part can take: what a count must be justified by.
const FILE_ENTRY: usize = 4 + 1 + 8 + 4;
const OPERATOR: usize = 16 + 1 + 4 + 4 + 3 * 4;
const STATE: usize = 4 + 1 + 2 * 4;
const LIST: usize = 4 + 1 + 4;
const SUBTASK: usize = 1 + 4 + 4;
const KEYED_HANDLE: usize = 2 + 5 + 4;
const LIST_HANDLE: usize = 2 + 8 + 4 + 5;
const GROUP: usize = 2 + 8 + 8 + 4;

impl Metadata {
    /// Reads the content of a `_metadata` file.
    ///
    /// # Errors
    /// [`FormatError`] says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (version, body) = frame::open(KIND, bytes)?;
        let mut cursor = Cursor::new(body);
        let metadata = metadata(&mut cursor, version)?;
        cursor.end()?;
        Ok(metadata)
    }
}

fn metadata(c: &mut Cursor<'_>, version: u32) -> Result<Metadata> {
    let checkpoint = CheckpointId(c.u64("checkpoint")?);
    if checkpoint < CheckpointId::FIRST {
        return Err(c.bad("checkpoint", "ids begin with 1"));
    }
    let kind = kind(c, version)?;
    let format = match version {
        ..4 => SnapshotFormat::Native,
        _ => format(c, kind)?,
    };
    let job = JobId::from_bits(c.u128("job")?);
    let job_name = c.text("job name")?.to_owned();
    let line = c.u64("line")?;
    let trigger_ms = c.u64("trigger time")?;
    let completed_ms = c.u64("completion time")?;
    let counters = LineCounters {
        records_in: c.u64("records_in")?,
        records_out: c.u64("records_out")?,
        records_late: c.u64("records_late")?,
        records_rejected: c.u64("records_rejected")?,
    };
    let files = c.many(FILE_ENTRY, "files", file)?;
    unique(c, "file name", files.iter().map(|f| &f.name))?;
    if kind == SnapshotKind::Savepoint && files.iter().any(|f| f.name.starts_with(SHARED_FILE)) {
        return Err(c.bad("file name", "a savepoint has all of its files beside it"));
    }
    let operators = c.many(OPERATOR, "operators", |c| operator(c, &files, version))?;
    unique(c, "operator id", operators.iter().map(|o| o.id))?;
    Ok(Metadata {
        checkpoint,
        kind,
        format,
        job,
        job_name,
        line,
        trigger_ms,
        completed_ms,
        counters,
        files,
        operators,
    })
}

fn kind(c: &mut Cursor<'_>, version: u32) -> Result<SnapshotKind> {
    let all = [SnapshotKind::Checkpoint, SnapshotKind::Final, SnapshotKind::Savepoint];
    let known = if version < 4 { &all[..2] } else { &all };
    tagged(c, "kind", known, kind_tag)
}

fn format(c: &mut Cursor<'_>, kind: SnapshotKind) -> Result<SnapshotFormat> {
    let format = tagged(c, "format", &[SnapshotFormat::Native, SnapshotFormat::Canonical], format_tag)?;
    if format == SnapshotFormat::Canonical && kind != SnapshotKind::Savepoint {
        return Err(c.bad("format", "savepoints alone have the canonical one"));
    }
    Ok(format)
}

fn tagged<T: Copy>(c: &mut Cursor<'_>, field: &'static str, all: &[T], tag: fn(T) -> u8) -> Result<T> {
    let found = c.u8(field)?;
    all.iter().copied().find(|&one| tag(one) == found).ok_or_else(|| c.bad(field, "no such kind"))
}

fn unique<T: Hash + Eq>(c: &Cursor<'_>, field: &'static str, all: impl Iterator<Item = T>) -> Result<()> {
    let mut seen = HashSet::new();
    for one in all {
        if !seen.insert(one) {
            return Err(c.bad(field, "it occurs twice"));
        }
    }
    Ok(())
}

/// A name that stays inside the checkpoint's directory, or that of the shared files, and is not one of the store's own.
fn is_data_file_name(name: &str) -> bool {
    let name = name.strip_prefix(SHARED_FILE).unwrap_or(name);
    !name.is_empty() && !name.starts_with(['.', '_']) && !name.contains(['/', '\\', '\0'])
}

fn file(c: &mut Cursor<'_>) -> Result<FileEntry> {
    let name = c.text("file name")?;
    if !is_data_file_name(name) {
        return Err(c.bad("file name", "it is not the plain name of a data file"));
    }
    Ok(FileEntry { name: Arc::from(name), len: c.u64("file length")?, crc: c.u32("file checksum")? })
}

fn operator(c: &mut Cursor<'_>, files: &[FileEntry], version: u32) -> Result<OperatorState> {
    let id = OperatorId::from_bits(c.u128("operator id")?);
    let uid = if c.bool("uid")? { Some(c.text("uid")?.to_owned()) } else { None };
    let name = c.text("operator name")?.to_owned();
    let max_parallelism = c.u32("max parallelism")?;
    let states = c.many(STATE, "states", |c| state(c, version))?;
    unique(c, "state name", states.iter().map(|s| &s.name))?;
    let lists = c.many(LIST, "lists", list)?;
    unique(c, "list name", lists.iter().map(|l| &l.name))?;
    let count = c.count(SUBTASK, "parallelism")?;
    let parallelism = Parallelism::new(count as i64, Some(i64::from(max_parallelism))).map_err(|_| {
        c.bad("parallelism", "it is not within 1..=max parallelism, or that not within 1..=32768")
    })?;
    let mut subtasks = Vec::with_capacity(count);
    for n in 0..count {
        let range = parallelism.range_of(n);
        let shape = Shape { files, range, states: &states, lists: lists.len() };
        subtasks.push(subtask(c, &shape)?);
    }
    Ok(OperatorState { id, uid, name, max_parallelism, states, lists, subtasks })
}

/// What the parts of a subtask must fit to.
struct Shape<'a> {
    files: &'a [FileEntry],
    range: KeyGroupRange,
    states: &'a [StateDescriptor],
    lists: usize,
}

fn schema(c: &mut Cursor<'_>, field: &'static str) -> Result<Schema> {
    let bytes = c.blob(field)?;
    Schema::parse(bytes).map_err(|_| c.bad(field, "it is not the description of a type"))
}

fn state(c: &mut Cursor<'_>, version: u32) -> Result<StateDescriptor> {
    let name = c.text("state name")?.to_owned();
    let kind = tagged(c, "state kind", &StateKind::ALL, state_kind_tag)?;
    let (key, value) = (schema(c, "key type")?, schema(c, "value type")?);
    let backend = match version {
        1 => Backend::Hashmap,
        _ => backend(c, version)?,
    };
    let mut state = StateDescriptor {
        name,
        kind,
        key,
        value,
        namespace: None,
        ttl: false,
        layout: Layout::Hashed,
        backend,
    };
    if version > 2 {
        state.layout = tagged(c, "state layout", &[Layout::Hashed, Layout::Ordered], layout_tag)?;
        state.ttl = c.bool("ttl")?;
        state.namespace = if c.bool("namespace")? { Some(schema(c, "namespace type")?) } else { None };
    }
    Ok(state)
}

fn backend(c: &mut Cursor<'_>, version: u32) -> Result<Backend> {
    match c.u8("backend")? {
        OWN if version > 2 => {
            let name = BackendName::new(c.text("name of a backend")?);
            name.map(Backend::Own).ok_or_else(|| c.bad("name of a backend", "it cannot be one"))
        }
        tag => [Backend::Hashmap, Backend::Paged, Backend::Canonical]
            .into_iter()
            .take(if version > 3 { 3 } else { 2 })
            .find(|&one| backend_tag(one) == tag)
            .ok_or_else(|| c.bad("backend", "no such kind")),
    }
}

fn list(c: &mut Cursor<'_>) -> Result<ListDescriptor> {
    let name = c.text("list name")?.to_owned();
    let all = [Redistribution::EvenSplit, Redistribution::Union];
    let redistribution = tagged(c, "redistribution", &all, redistribution_tag)?;
    Ok(ListDescriptor { name, redistribution, element: schema(c, "element type")? })
}

fn subtask(c: &mut Cursor<'_>, shape: &Shape<'_>) -> Result<SubtaskState> {
    let finished = c.bool("finished")?;
    let keyed = c.many(KEYED_HANDLE, "keyed handles", |c| keyed_handle(c, shape))?;
    // A chain of changes has several, in its order.
    let backend = |state: u16| shape.states[usize::from(state)].backend;
    let chained = |state: u16| !matches!(backend(state), Backend::Hashmap | Backend::Canonical);
    if !keyed.is_sorted_by(|a, b| a.state < b.state || (a.state == b.state && chained(a.state))) {
        return Err(c.bad("keyed handles", "their states do not ascend"));
    }
    let lists = c.many(LIST_HANDLE, "list handles", |c| list_handle(c, shape))?;
    if !lists.is_sorted_by(|a, b| a.list < b.list) {
        return Err(c.bad("list handles", "their lists do not ascend"));
    }
    Ok(SubtaskState { finished, keyed, lists })
}

fn keyed_handle(c: &mut Cursor<'_>, shape: &Shape<'_>) -> Result<KeyedHandle> {
    let state = c.u16("state index")?;
    let Some(descriptor) = shape.states.get(usize::from(state)) else {
        return Err(c.bad("state index", "there is no such state"));
    };
    let form = GroupForm::of(descriptor.backend);
    let data = handle(c, shape.files)?;
    let mut offset = 0u64;
    let groups = c.many(GROUP, "key groups", |c| {
        let (group, entries) = (KeyGroup(c.u16("key group")?), c.u64("entries")?);
        let (len, crc) = (c.u64("length of a key group")?, c.u32("checksum of a key group")?);
        let range = GroupRange { group, entries, offset, len, crc };
        offset = offset.checked_add(len).ok_or_else(|| c.bad("length of a key group", "too long"))?;
        Ok(range)
    })?;
    if !groups.is_sorted_by(|a, b| a.group < b.group) {
        return Err(c.bad("key groups", "they do not ascend"));
    }
    // So no group occurs in two subtasks.
    if groups.iter().any(|g| !shape.range.contains(g.group)) {
        return Err(c.bad("key groups", "one does not belong to the subtask"));
    }
    if offset != data.len() {
        return Err(c.bad("key groups", "together they are not as long as the data"));
    }
    Ok(KeyedHandle { state, groups, data, form })
}

fn list_handle(c: &mut Cursor<'_>, shape: &Shape<'_>) -> Result<ListHandle> {
    let list = c.u16("list index")?;
    if usize::from(list) >= shape.lists {
        return Err(c.bad("list index", "there is no such list"));
    }
    let (elements, crc) = (c.u64("elements")?, c.u32("checksum of a list")?);
    let data = handle(c, shape.files)?;
    if elements.checked_mul(4).is_none_or(|least| least > data.len()) {
        return Err(c.bad("elements", "they do not fit into the data"));
    }
    Ok(ListHandle { list, elements, crc, data })
}

fn handle(c: &mut Cursor<'_>, files: &[FileEntry]) -> Result<Handle> {
    match c.u8("handle")? {
        INLINE => Ok(Handle::Inline(c.blob("inline data")?.into())),
        FILE => {
            let number = c.u32("file number")? as usize;
            let (offset, len) = (c.u64("offset in a file")?, c.u64("length in a file")?);
            let file = files.get(number).ok_or_else(|| c.bad("file number", "there is no such file"))?;
            if offset.checked_add(len).is_none_or(|end| end > file.len) {
                return Err(c.bad("length in a file", "it goes beyond the file's end"));
            }
            Ok(Handle::File { name: Arc::clone(&file.name), offset, len })
        }
        _ => Err(c.bad("handle", "no such kind")),
    }
}
