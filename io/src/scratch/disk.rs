//! The machine's memory, and files.
#![expect(clippy::disallowed_methods, reason = "this is the one place that makes scratch files")]

use super::{Budget, Charge, Room, Scratch};
use crate::error::StorageError;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the machine's memory, or of what this process may have of it (`RLIMIT_DATA`, `RLIMIT_AS`), if that is less.
pub fn machine_memory() -> u64 {
    let info = rustix::system::sysinfo();
    let machine = (info.totalram as u64).saturating_mul(info.mem_unit.into());
    let limits = [Resource::Data, Resource::As].map(|resource| getrlimit(resource).current);
    limits.into_iter().flatten().fold(machine, u64::min)
}

/// Memory as far as a budget goes, and files in a directory beyond that.
///
/// A file has a name (`.millstream-<process>-<n>.scratch`) only until it is open: nothing is left of it when the process is
/// gone, however that happened. (A kill in between leaves an empty file.)
#[derive(Debug)]
pub struct DiskScratch {
    dir: PathBuf,
    budget: Budget,
    /// The number of the next file.
    next: AtomicU64,
}

impl DiskScratch {
    /// Files in `dir`, which is made when the first one is.
    pub fn new(dir: PathBuf, budget: Budget) -> Self {
        Self { dir, budget, next: AtomicU64::new(0) }
    }

    /// An empty file without a name, and the name that it had.
    fn create(&self) -> Result<(File, PathBuf), StorageError> {
        fs::create_dir_all(&self.dir)
            .map_err(|error| StorageError::not_done("create directory", &self.dir, error))?;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.dir.join(format!(".millstream-{}-{number}.scratch", std::process::id()));
            // Content of state is nobody else's.
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            match file {
                // A process of the same number was killed here.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StorageError::not_done("create", &path, error)),
                Ok(file) => {
                    fs::remove_file(&path).map_err(|error| StorageError::not_done("remove", &path, error))?;
                    return Ok((file, path));
                }
            }
        }
    }
}

impl Scratch for DiskScratch {
    fn memory(&self, bytes: usize) -> Option<Charge> {
        self.budget.charge(bytes)
    }

    fn file(&self, bytes: usize) -> Result<Room, StorageError> {
        let (mut file, path) = self.create()?;
        allocate(&mut file, &path, bytes)?;
        Ok(Room::File(file))
    }
}

/// Finds room for all of a file: a page of a mapped file that the disk has no room for would be the end of the process.
fn allocate(file: &mut File, path: &Path, bytes: usize) -> Result<(), StorageError> {
    let done = loop {
        match fallocate(&*file, FallocateFlags::empty(), 0, bytes as u64) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP) => break write_zeros(file, bytes),
            other => break other.map_err(io::Error::from),
        }
    };
    done.map_err(|error| StorageError::not_done("allocate", path, error))
}

/// The same where the file system knows no such request.
fn write_zeros(file: &mut File, bytes: usize) -> io::Result<()> {
    let zeros = vec![0; bytes.min(1 << 20)];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(zeros.len());
        file.write_all(&zeros[..now])?;
        left -= now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn scratch(dir: &Path, budget: u64) -> DiskScratch {
        DiskScratch::new(dir.to_owned(), Budget::new(budget))
    }

    /// A name would be left behind by a kill, and room that is found later than at the beginning could be missing.
    #[test]
    fn a_file_has_no_name_and_all_of_its_room() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = scratch(&dir.path().join("a/b"), 0);
        let Room::File(file) = scratch.file(1 << 20).unwrap() else { panic!("a file was asked for") };
        let stat = file.metadata().unwrap();
        assert_eq!((stat.len(), stat.nlink()), (1 << 20, 0));
        assert!(stat.blocks() * 512 >= 1 << 20, "{} blocks", stat.blocks());
        assert_eq!(fs::read_dir(dir.path().join("a/b")).unwrap().count(), 0);
    }

    #[test]
    fn room_by_zeros_is_as_much() {
        let mut file = tempfile::tempfile().unwrap();
        write_zeros(&mut file, (3 << 20) + 5).unwrap();
        assert_eq!(file.metadata().unwrap().len(), (3 << 20) + 5);
    }

    /// What a killed process of the same number left is passed over, and left alone.
    #[test]
    fn names_that_are_taken_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join(format!(".millstream-{}-0.scratch", std::process::id()));
        fs::write(&taken, "x").unwrap();
        scratch(dir.path(), 0).file(4096).unwrap();
        assert_eq!(fs::read(taken).unwrap(), b"x");
    }

    #[test]
    fn what_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = scratch(&file.path().join("in the way"), 0).file(4096).unwrap_err();
        assert_eq!(error.operation, "create directory");
        assert!(error.to_string().contains("in the way"), "{error}");
    }

    #[test]
    fn the_machine_has_memory_in_whole_pages() {
        let memory = machine_memory();
        assert!(memory >= 64 << 20 && memory.is_multiple_of(4096), "{memory}");
    }
}
