//! Whether the splits of a checkpoint can be gone on with (ruling 26).

use super::discover::{Found, files_now, unless_gone};
use super::identity::head_of;
use super::split::FileSplit;
use crate::error::{Class, ConnectorError};
use crate::storage::{Kind, ReadFile, Storage};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What a source is, as far as its old splits must agree with it.
pub(super) struct Given<'a> {
    pub storage: &'a dyn Storage,
    pub inputs: &'a [PathBuf],
    pub follow: bool,
    pub allow_dropped: bool,
}

/// An input as it stands now.
struct Root {
    path: PathBuf,
    is_dir: bool,
}

impl Root {
    /// Whether a file that was read belongs to this input. A followed file that was renamed beside its input does.
    fn holds(&self, path: &Path, follow: bool) -> bool {
        path == self.path
            || (self.is_dir && path.starts_with(&self.path))
            || (follow && !self.is_dir && path.parent() == self.path.parent())
    }
}

impl Given<'_> {
    /// The splits to go on with.
    pub(super) fn check(&self, splits: Vec<FileSplit>) -> Result<Vec<FileSplit>, ConnectorError> {
        let roots = self.roots()?;
        let present = if self.follow { files_now(self.storage, self.inputs)? } else { Vec::new() };
        let inodes: HashSet<u64> = splits.iter().map(|split| split.inode).collect();
        let mut good = Vec::new();
        for split in splits {
            if split.followed() != self.follow {
                return Err(self.other_mode(&split));
            }
            // What is done is not looked at again, whatever has become of it.
            if split.left() == 0 && !self.follow {
                good.push(split);
                continue;
            }
            if !roots.iter().any(|root| root.holds(split.path(), self.follow)) {
                if self.allow_dropped {
                    continue;
                }
                return Err(not_given(&split));
            }
            if self.follow {
                good.push(self.followed(split, &present, &inodes)?);
            } else {
                good.extend(self.bounded(split)?);
            }
        }
        Ok(good)
    }

    fn roots(&self) -> Result<Vec<Root>, ConnectorError> {
        let mut roots = Vec::new();
        for input in self.inputs {
            let found = match self.storage.canonical(input) {
                Ok(path) => Some(Root { is_dir: self.storage.stat(&path)?.kind == Kind::Dir, path }),
                Err(_) => self.without_file(input),
            };
            roots.extend(found);
        }
        Ok(roots)
    }

    /// An input that is not there now, under the name that it would have.
    fn without_file(&self, input: &Path) -> Option<Root> {
        let parent = match input.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let dir = self.storage.canonical(parent).ok()?;
        Some(Root { path: dir.join(input.file_name()?), is_dir: false })
    }

    /// A stretch of a file that must still be as it was.
    fn bounded(&self, split: FileSplit) -> Result<Option<FileSplit>, ConnectorError> {
        let Some(file) = unless_gone(self.storage.open(split.path()))? else {
            if self.allow_dropped {
                return Ok(None);
            }
            return Err(refused(&split, "the file is gone before it was read to its end")
                .with_hint("put it back, or leave its state behind with --allow-non-restored-state"));
        };
        if !unchanged(&*file, &split)? {
            return Err(refused(&split, CHANGED).with_hint("put the old file back, or start with --fresh"));
        }
        let inode = file.stat()?.inode;
        Ok(Some(FileSplit { inode, ..split }))
    }

    /// A followed file: under its old inode wherever that is now; or, if no file has that, what stands under its old
    /// name and has its old content, which is a copy that was put in its place.
    fn followed(
        &self,
        split: FileSplit,
        present: &[Found],
        known: &HashSet<u64>,
    ) -> Result<FileSplit, ConnectorError> {
        if present.iter().any(|found| found.inode == split.inode) || self.beside(&split)? {
            return Ok(split);
        }
        let Some(file) = unless_gone(self.storage.open(split.path()))? else { return Ok(split) };
        let stat = file.stat()?;
        let copied = !known.contains(&stat.inode)
            && split.print.len > 0
            && stat.len >= split.position
            && split.print.fits(&head_of(&*file)?);
        Ok(if copied { FileSplit { inode: stat.inode, ..split } } else { split })
    }

    /// Whether a file in the same directory has the split's inode.
    fn beside(&self, split: &FileSplit) -> Result<bool, ConnectorError> {
        let Some(dir) = split.path().parent() else { return Ok(false) };
        for entry in unless_gone(self.storage.list(dir))?.unwrap_or_default() {
            let stat = unless_gone(self.storage.stat(&dir.join(entry.name)))?;
            if stat.is_some_and(|stat| stat.kind == Kind::File && stat.inode == split.inode) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn other_mode(&self, split: &FileSplit) -> ConnectorError {
        let cause = if self.follow {
            "the checkpoint is of a source that reads its input to the end, this one follows it"
        } else {
            "the checkpoint is of a source that follows its input, this one reads it to the end"
        };
        refused(split, cause).with_hint("start the job as it was started before, or with --fresh")
    }
}

/// What is wrong with a file that [`unchanged`] does not know again.
pub(super) const CHANGED: &str = "the file is not the one that was read before: its content has changed";

/// Whether the file that a stretch is of still holds what it held when it was divided. (A copy that was put back has
/// another inode; then nothing may have been added either.)
pub(super) fn unchanged(file: &dyn ReadFile, split: &FileSplit) -> crate::storage::Result<bool> {
    let stat = file.stat()?;
    let long = if stat.inode == split.inode { stat.len >= split.len } else { stat.len == split.len };
    Ok(long && split.print.fits(&head_of(file)?))
}

fn not_given(split: &FileSplit) -> ConnectorError {
    refused(split, "the checkpoint goes on reading this file, which is not among the inputs")
        .with_hint("give it as an input again, or leave its state behind with --allow-non-restored-state")
}

fn refused(split: &FileSplit, cause: &str) -> ConnectorError {
    ConnectorError::new(Class::Refuse, "restore source", split.path().display().to_string(), cause)
}
