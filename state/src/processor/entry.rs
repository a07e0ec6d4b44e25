//! What the bytes of an entry mean: which of them are the key, the namespace, and so on. Pure; the layout of each kind stands in
//! `docs/format.md`.

use crate::descriptor::{Layout, StateDescriptor, StateKind};
use millstream_io::Schema;
use millstream_io::record::{DecodeError, Shape, ShapeError};

/// How the entries of a keyed state are read.
#[derive(Clone, Debug)]
pub struct EntryShape {
    kind: StateKind,
    layout: Layout,
    ttl: bool,
    key: Shape,
    namespace: Option<Shape>,
    /// Of a map that of its keys.
    sub_key: Option<Shape>,
    value: Shape,
}

/// A part of an entry: a value, and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// How.
    pub shape: &'a Shape,
    /// Its bytes.
    pub row: &'a [u8],
}

/// An entry in its parts.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The key.
    pub key: Part<'a>,
    /// The namespace, where the state has any and it is not the void one.
    pub namespace: Option<Part<'a>>,
    /// Of a map: its own key.
    pub map_key: Option<Part<'a>>,
    /// Of a list: where in it the element ends, in bytes: elements are in this order.
    pub position: Option<u64>,
    /// Of timers: when, in milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// With a time to live: when the value was accessed last, in milliseconds since the epoch.
    pub accessed_ms: Option<u64>,
    /// The value; none of timers.
    pub value: Option<Part<'a>>,
}

type Result<T> = std::result::Result<T, DecodeError>;

fn word(bytes: &[u8]) -> Result<([u8; 8], &[u8])> {
    bytes
        .split_first_chunk()
        .map(|(word, rest)| (*word, rest))
        .ok_or(DecodeError::Truncated { need: 8, have: bytes.len() })
}

fn part<'a>(shape: &'a Shape, bytes: &'a [u8]) -> Result<(Part<'a>, &'a [u8])> {
    let (row, rest) = bytes.split_at(shape.check(bytes)?);
    Ok((Part { shape, row }, rest))
}

impl Part<'_> {
    /// Appends it as JSON.
    pub fn show(&self, out: &mut String) {
        // It was checked before it became a part.
        let shown = self.shape.show(self.row, out);
        debug_assert_eq!(shown, Ok(self.row.len()));
    }
}

impl EntryShape {
    /// That of a state.
    ///
    /// # Errors
    /// Its types are not known here.
    pub fn of(state: &StateDescriptor) -> std::result::Result<Self, ShapeError> {
        let (sub_key, value) = match (state.kind, &state.value) {
            (StateKind::Map, Schema::Tuple(pair)) if pair.len() == 2 => {
                (Some(Shape::new(&pair[0])?), Shape::new(&pair[1])?)
            }
            (StateKind::Map, _) => return Err(ShapeError::Impossible("a map is of pairs")),
            (_, value) => (None, Shape::new(value)?),
        };
        Ok(Self {
            kind: state.kind,
            layout: state.layout,
            ttl: state.ttl,
            key: Shape::new(&state.key)?,
            namespace: state.namespace.as_ref().map(Shape::new).transpose()?,
            sub_key,
            value,
        })
    }

    /// How keys are read.
    pub fn key(&self) -> &Shape {
        &self.key
    }

    /// Whether all entries of a key follow one another, and begin with it.
    pub(crate) fn begins_with_key(&self) -> bool {
        self.layout == Layout::Hashed || !self.is_timers()
    }

    fn is_timers(&self) -> bool {
        matches!(self.kind, StateKind::EventTimers | StateKind::ProcessingTimers)
    }

    /// The parts of an entry.
    ///
    /// # Errors
    /// Bytes that are not as this state's are.
    pub fn parts<'a>(&'a self, [key, value]: [&'a [u8]; 2]) -> Result<Parts<'a>> {
        let mut all = Parts {
            key: Part { shape: &self.key, row: key },
            namespace: None,
            map_key: None,
            position: None,
            timestamp: None,
            accessed_ms: None,
            value: None,
        };
        if self.layout == Layout::Hashed {
            let (of_key, rest) = part(&self.key, key)?;
            let (of_value, behind) = part(&self.value, value)?;
            (all.key, all.value) = (of_key, Some(of_value));
            return nothing(rest).and_then(|()| nothing(behind)).map(|()| all);
        }
        let mut rest = key;
        if self.is_timers() {
            let (time, behind) = word(rest)?;
            all.timestamp = Some((u64::from_be_bytes(time) ^ (1 << 63)).cast_signed());
            rest = behind;
        }
        (all.key, rest) = part(&self.key, rest)?;
        if let Some(namespace) = &self.namespace {
            let (tag, behind) = rest.split_first().ok_or(DecodeError::Truncated { need: 1, have: 0 })?;
            rest = behind;
            match tag {
                0 => {}
                1 => {
                    let (named, behind) = part(namespace, rest)?;
                    (all.namespace, rest) = (Some(named), behind);
                }
                tag => return Err(DecodeError::Tag { tag: *tag, what: "a namespace" }),
            }
        }
        if let Some(sub_key) = &self.sub_key {
            let (of_map, behind) = part(sub_key, rest)?;
            (all.map_key, rest) = (Some(of_map), behind);
        }
        if self.kind == StateKind::List {
            let (end, behind) = word(rest)?;
            (all.position, rest) = (Some(u64::from_be_bytes(end)), behind);
        }
        nothing(rest)?;
        let mut rest = value;
        if self.is_timers() {
            return nothing(rest).map(|()| all);
        }
        if self.ttl {
            let (time, behind) = word(rest)?;
            (all.accessed_ms, rest) = (Some(u64::from_le_bytes(time)), behind);
        }
        let (of_value, rest) = part(&self.value, rest)?;
        all.value = Some(of_value);
        nothing(rest).map(|()| all)
    }
}

fn nothing(rest: &[u8]) -> Result<()> {
    if rest.is_empty() { Ok(()) } else { Err(DecodeError::Trailing(rest.len())) }
}

impl Parts<'_> {
    /// The entry as one JSON object, with those of its parts that it has: `key`, `namespace`, `map_key`, `position`,
    /// `timestamp`, `accessed_ms`, `value`.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"key\":");
        self.key.show(&mut out);
        let of_part = |name: &str, part: &Option<Part<'_>>, out: &mut String| {
            if let Some(part) = part {
                out.push_str(&format!(",\"{name}\":"));
                part.show(out);
            }
        };
        of_part("namespace", &self.namespace, &mut out);
        of_part("map_key", &self.map_key, &mut out);
        if let Some(position) = self.position {
            out.push_str(&format!(",\"position\":{position}"));
        }
        if let Some(timestamp) = self.timestamp {
            out.push_str(&format!(",\"timestamp\":{timestamp}"));
        }
        if let Some(accessed) = self.accessed_ms {
            out.push_str(&format!(",\"accessed_ms\":{accessed}"));
        }
        of_part("value", &self.value, &mut out);
        out.push('}');
        out
    }
}
