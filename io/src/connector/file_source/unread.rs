//! What is there of the input, and is not read by a start that goes on: the input of a source that does not follow is
//! what was there when the job began. Pure.

use super::discover::Found;
use super::split::FileSplit;
use std::collections::HashMap;
use std::path::Path;

/// A sentence for each file that is new or has grown since `splits` were made; files without content then are not known.
pub(super) fn unread(present: &[Found], splits: &[FileSplit]) -> Vec<String> {
    let known: HashMap<&Path, u64> = splits.iter().map(|split| (split.path(), split.len)).collect();
    let sentence = |found: &Found| {
        let path = found.path.display();
        match known.get(found.path.as_path()) {
            None if found.len > 0 => Some(format!("{path} (it is new, or was empty)")),
            Some(&len) if found.len > len => Some(format!("the last {} bytes of {path}", found.len - len)),
            _ => None,
        }
    };
    present.iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::super::identity::Fingerprint;
    use super::*;

    #[test]
    fn new_files_and_what_was_appended_are_named() {
        let found = |path: &str, len| Found { path: path.into(), inode: 1, len };
        let split = |path: &str, len| FileSplit::new(path.as_ref(), 1, Fingerprint::default(), len);
        let present = [found("/a", 10), found("/b", 25), found("/c", 3), found("/d", 0)];
        // Done or not makes no difference, nor what is gone.
        let splits = [FileSplit { position: 10, ..split("/a", 10) }, split("/b", 20), split("/e", 5)];
        assert_eq!(unread(&present, &splits), ["the last 5 bytes of /b", "/c (it is new, or was empty)"]);
        assert_eq!(unread(&present[..1], &splits), [""; 0]);
    }
}
