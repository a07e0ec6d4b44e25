//! Which files the inputs stand for, and how they are divided.

use super::identity::{Fingerprint, head_of};
use super::split::{FileSplit, places};
use crate::error::{Class, ConnectorError, StorageError};
use crate::format::{BOM, Borders, Format};
use crate::storage::{Kind, ReadFile, Storage};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Parts that each subtask gets of a large input, about: so many that their sizes even out.
const PARTS_PER_SUBTASK: u64 = 4;

/// Bytes read at a time by the pre-scan.
const SCAN_CHUNK: usize = 256 * 1024;

/// A file that belongs to the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::connector) struct Found {
    pub path: PathBuf,
    pub inode: u64,
    pub len: u64,
}

/// The files that the inputs stand for: each that is a file, and of each directory the regular files in it and
/// below, names that begin with a dot and symbolic links left out. By path, each path once.
///
/// An input that is not there is an error that names it; files that come and go in directories meanwhile are not.
pub(super) fn files(storage: &dyn Storage, inputs: &[PathBuf]) -> Result<Vec<Found>, ConnectorError> {
    let mut found = Vec::new();
    for input in inputs {
        let unusable = |at: &Path, cause: Cause| {
            ConnectorError::new(Class::Refuse, "open input", at.display().to_string(), cause)
        };
        // Below an input the error names its place; of the input itself it is named as it was given.
        let below = |error: &StorageError| storage.canonical(input).is_ok_and(|top| error.path != top);
        let failed = |error: StorageError| match below(&error) {
            true => unusable(&error.path.clone(), error.source.into()),
            false => unusable(input, error.source.into()),
        };
        if !add(storage, input, &mut found).map_err(failed)? {
            return Err(unusable(input, "is neither a regular file nor a directory".into()));
        }
    }
    Ok(each_once(found))
}

/// The same, with inputs that are not there, or not files, left out: for a source that follows, an input may be
/// missing while it is rotated.
pub(in crate::connector) fn files_now(
    storage: &dyn Storage,
    inputs: &[PathBuf],
) -> crate::storage::Result<Vec<Found>> {
    let mut found = Vec::new();
    for input in inputs {
        unless_gone(add(storage, input, &mut found))?;
    }
    Ok(each_once(found))
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

fn each_once(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    found
}

/// Adds what one input stands for; false when it is neither a file nor a directory.
fn add(storage: &dyn Storage, input: &Path, found: &mut Vec<Found>) -> crate::storage::Result<bool> {
    let path = storage.canonical(input)?;
    let stat = storage.stat(&path)?;
    match stat.kind {
        Kind::File => found.push(Found { path, inode: stat.inode, len: stat.len }),
        Kind::Dir => walk(storage, &path, found)?,
        Kind::Other => return Ok(false),
    }
    Ok(true)
}

/// Adds the files in and below `dir`. What a link leads to is not in it: it may be read under its own name as well, or
/// be a directory above.
fn walk(storage: &dyn Storage, dir: &Path, found: &mut Vec<Found>) -> crate::storage::Result<()> {
    let Some(entries) = unless_gone(storage.list(dir))? else { return Ok(()) };
    for entry in entries {
        if entry.link || entry.name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = dir.join(&entry.name);
        let Some(stat) = unless_gone(storage.stat(&path))? else { continue };
        match stat.kind {
            Kind::File => found.push(Found { path, inode: stat.inode, len: stat.len }),
            Kind::Dir => walk(storage, &path, found)?,
            Kind::Other => {}
        }
    }
    Ok(())
}

/// Nothing for what is not there any more.
pub(super) fn unless_gone<T>(result: crate::storage::Result<T>) -> crate::storage::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The splits of a fresh start of a bounded source: each file whole, or, where it is larger than what evens out
/// among the subtasks (and than `smallest`), in parts that begin and end between records.
pub(super) fn splits<F: Format>(
    storage: &dyn Storage,
    files: &[Found],
    parallelism: usize,
    smallest: u64,
) -> Result<Vec<FileSplit>, ConnectorError> {
    let total: u64 = files.iter().map(|file| file.len).sum();
    let even = total.div_ceil(PARTS_PER_SUBTASK * parallelism as u64);
    let part = if parallelism == 1 { u64::MAX } else { even.max(smallest) };
    let mut splits = Vec::new();
    for found in files {
        let Some(file) = unless_gone(storage.open(&found.path))? else { continue };
        let stat = file.stat()?;
        let head = head_of(&*file)?;
        let whole = FileSplit::new(&found.path, stat.inode, Fingerprint::of(&head), stat.len);
        let mut places = places(stat.len, part);
        if !F::LF_ENDS_RECORD && !places.is_empty() {
            let begin = if F::DROPS_BOM && head.starts_with(BOM) { BOM.len() } else { 0 };
            places = borders::<F>(&*file, begin as u64, places)?;
            // The first part holds the first record that is not blank, which may be a header.
            let blank = head[begin..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let first = if begin + blank < head.len() { (begin + blank) as u64 } else { stat.len };
            places.retain(|place| *place > first);
        }
        divide(whole, &places, &mut splits);
    }
    Ok(splits)
}

/// Cuts a split at places inside of it, in ascending order.
fn divide(whole: FileSplit, places: &[u64], splits: &mut Vec<FileSplit>) {
    let mut begin = 0;
    for &place in places.iter().filter(|place| **place < whole.len) {
        splits.push(FileSplit { position: begin, end: place, ..whole.clone() });
        begin = place;
    }
    if begin < whole.len {
        splits.push(FileSplit { position: begin, ..whole });
    }
}

/// The borders between records nearest behind `places`.
fn borders<F: Format>(file: &dyn ReadFile, begin: u64, places: Vec<u64>) -> Result<Vec<u64>, ConnectorError> {
    let mut borders = Borders::<F::Splitter>::new(begin, places);
    let mut buffer = vec![0; SCAN_CHUNK];
    let mut at = begin;
    loop {
        let n = file.read_at(&mut buffer, at)?;
        if n == 0 || !borders.feed(&buffer[..n]) {
            return Ok(borders.found());
        }
        at += n as u64;
    }
}
