//! Words for people, on stderr.

use std::fmt;
use std::io::{self, Write};

/// Writes a line to stderr. A reader that has gone, or a full disk, is no reason for a job to end.
pub fn say(line: impl fmt::Display) {
    // In one piece, so that lines of several threads do not mix.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
