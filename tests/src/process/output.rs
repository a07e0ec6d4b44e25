//! What a job has written, as far as anybody may see it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines with how often each is there: output whose order is free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(pub BTreeMap<Vec<u8>, u64>);

impl Lines {
    /// The lines of a text. What follows the last LF is a line as well.
    pub fn of(text: &[u8]) -> Self {
        let mut lines = Self::default();
        lines.add(text);
        lines
    }

    fn add(&mut self, text: &[u8]) {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        if !text.is_empty() {
            text.split(|byte| *byte == b'\n').for_each(|line| *self.0.entry(line.to_vec()).or_default() += 1);
        }
    }

    /// Lines of all visible files of an output directory; none when there is no directory.
    ///
    /// # Panics
    /// A file cannot be read.
    pub fn visible(dir: &Path) -> Self {
        let mut lines = Self::default();
        files(dir, Side::Visible)
            .iter()
            .for_each(|file| lines.add(&fs::read(file).expect("a readable file")));
        lines
    }

    /// How many lines there are, repeated ones counted.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The lines as text, each once.
    ///
    /// # Panics
    /// A line is not text.
    pub fn texts(&self) -> Vec<&str> {
        self.0.keys().map(|line| std::str::from_utf8(line).expect("text")).collect()
    }

    /// What is in one and not, or not as often, in the other: said in few words.
    pub fn difference(&self, wanted: &Self) -> Option<String> {
        let count = |lines: &Self, line: &Vec<u8>| lines.0.get(line).copied().unwrap_or(0);
        let keys = self.0.keys().chain(wanted.0.keys());
        let mut wrong: Vec<&Vec<u8>> = keys.filter(|line| count(self, line) != count(wanted, line)).collect();
        wrong.sort();
        wrong.dedup();
        let first = wrong.first()?;
        Some(format!(
            "{} of {} lines differ, the first is {:?}: there {} times in place of {}",
            wrong.len(),
            wanted.0.len(),
            String::from_utf8_lossy(&first[..first.len().min(80)]),
            count(self, first),
            count(wanted, first)
        ))
    }

    /// They are the lines that were wanted.
    ///
    /// # Panics
    /// They are not.
    #[track_caller]
    pub fn are(&self, wanted: &Self) {
        if let Some(difference) = self.difference(wanted) {
            panic!("{difference}");
        }
    }
}

/// Which files of an output directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Committed.
    Visible,
    /// With a name that begins with a dot.
    Hidden,
}

/// Files of an output directory, by name; none when there is no directory.
///
/// # Panics
/// The directory cannot be read.
pub(super) fn files(dir: &Path, side: Side) -> Vec<PathBuf> {
    if !dir.exists() {
        return Vec::new();
    }
    let entries = fs::read_dir(dir).expect("a readable directory");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let hidden =
        |file: &PathBuf| file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    files.retain(|file| hidden(file) == (side == Side::Hidden));
    files.sort();
    files
}
