//! The `lineage` file: bytes, and reading and replacing them.

use super::{Began, LineEnd, Lineage};
use crate::codec::{Cursor, Encoder};
use crate::error::{FormatError, StateError};
use crate::frame::{self, FileKind};
use millstream_io::id::CheckpointId;
use millstream_io::storage::{self, Storage};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Version 2 added what the line has reached.
const KIND: FileKind = FileKind { magic: *b"MILLLINE", version: 2 };

/// The lineage in the file `path`, `None` when there is no such file.
pub(crate) fn read(storage: &dyn Storage, path: &Path) -> Result<Option<Lineage>, StateError> {
    match storage::read_all(storage, path) {
        Ok(bytes) => match Lineage::parse(&bytes) {
            Ok(lineage) => Ok(Some(lineage)),
            Err(source) => Err(StateError::Lineage { path: path.to_owned(), source }),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // What the storage says of whatever is there in its place.
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            Err(StateError::Lineage { path: path.to_owned(), source: FormatError::NotAFile })
        }
        Err(error) => Err(StateError::Unusable(error)),
    }
}

/// Replaces the file, atomically and durably.
pub(crate) fn write(storage: &dyn Storage, path: &Path, lineage: &Lineage) -> storage::Result<()> {
    storage.publish(path, &lineage.encode())
}

impl Lineage {
    /// The content of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u64(self.line);
        out.u64(self.first.0);
        match &self.began {
            Began::Empty => out.u8(0),
            Began::At(dir) => {
                out.u8(1);
                out.blob(dir.as_os_str().as_encoded_bytes());
            }
        }
        match &self.end {
            LineEnd::Open => out.u8(0),
            LineEnd::Finished => out.u8(1),
            LineEnd::Canceled => out.u8(2),
            LineEnd::Stopped(dir) => {
                out.u8(3);
                out.blob(dir.as_os_str().as_encoded_bytes());
            }
        }
        out.u64(self.reached.map_or(0, |id| id.0));
        frame::seal(KIND, &out.bytes)
    }

    /// Reads the content of the file.
    ///
    /// # Errors
    /// [`FormatError`] says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let (version, body) = frame::open(KIND, bytes)?;
        let mut c = Cursor::new(body);
        let line = c.u64("line")?;
        let first = CheckpointId(c.u64("first checkpoint")?);
        if line == 0 || first < CheckpointId::FIRST {
            return Err(c.bad("first checkpoint", "lines and ids begin with 1"));
        }
        let began = match c.u8("beginning")? {
            0 => Began::Empty,
            1 => Began::At(path(&mut c, "beginning")?),
            _ => return Err(c.bad("beginning", "no such kind")),
        };
        let end = match c.u8("end of the line")? {
            0 => LineEnd::Open,
            1 => LineEnd::Finished,
            2 => LineEnd::Canceled,
            3 => LineEnd::Stopped(path(&mut c, "end of the line")?),
            _ => return Err(c.bad("end of the line", "no such kind")),
        };
        let reached = match version {
            1 => None,
            _ => Some(CheckpointId(c.u64("reached checkpoint")?)).filter(|id| *id >= CheckpointId::FIRST),
        };
        c.end()?;
        Ok(Self { line, first, began, end, reached })
    }
}

fn path(c: &mut Cursor<'_>, field: &'static str) -> Result<PathBuf, FormatError> {
    let path = path_of(c.blob(field)?).ok_or_else(|| c.bad(field, "it is no path on this system"))?;
    if path.is_absolute() { Ok(path) } else { Err(c.bad(field, "the path is not absolute")) }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    (!bytes.contains(&0)).then(|| std::ffi::OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}
