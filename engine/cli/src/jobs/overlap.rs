//! Directories that a job must not write to because of what else they are: it would read what it writes itself, or mix
//! what is committed with what was rejected.

use crate::failure::Failure;
use rustix::fs::Access;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What a job writes to: the option or key that names it, and the directory.
pub(super) struct Target<'a> {
    pub option: &'static str,
    pub dir: &'a Path,
}

/// Refuses a target that is an input directory, or below one where it is read.
///
/// # Errors
/// The target is named.
pub(super) fn not_read(target: &Target<'_>, inputs: &[PathBuf]) -> Result<(), Failure> {
    let dir = resolved(target.dir);
    for input in inputs.iter().filter(|input| input.is_dir()) {
        let read = resolved(input);
        // What begins with a dot is left out of a directory.
        if dir.strip_prefix(&read).is_ok_and(|below| !below.components().any(is_hidden)) {
            let cause = format!("is in the input directory {}, so the job would read it", input.display());
            return Err(refused(target, cause).hint("a name that begins with a dot is not read"));
        }
    }
    Ok(())
}

/// Refuses two targets of which one is the other, or below it.
///
/// # Errors
/// The first one is named.
pub(super) fn apart(one: &Target<'_>, other: &Target<'_>) -> Result<(), Failure> {
    let (a, b) = (resolved(one.dir), resolved(other.dir));
    let cause = match (a.starts_with(&b), b.starts_with(&a)) {
        (true, true) => "is also",
        (true, false) => "is below",
        (false, true) => "is above",
        (false, false) => return Ok(()),
    };
    let cause = format!("{cause} {} {}", other.option, other.dir.display());
    Err(refused(one, cause).hint("give each a directory of its own"))
}

/// Refuses a target that could not be written to, or not be made. Touches nothing.
///
/// # Errors
/// The target is named.
pub(super) fn writable(target: &Target<'_>) -> Result<(), Failure> {
    let dir = resolved(target.dir);
    let Some(there) = dir.ancestors().find(|dir| dir.exists()) else { return Ok(()) };
    let cause = if there.is_dir() {
        let allowed = rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK);
        allowed.err().map(|error| std::io::Error::from(error).to_string())
    } else {
        Some("not a directory".to_owned())
    };
    match cause {
        Some(cause) => Err(refused(target, format!("{}: {cause}", there.display()))
            .hint("it must be a directory in which files can be created")),
        None => Ok(()),
    }
}

fn refused(target: &Target<'_>, cause: String) -> Failure {
    Failure::refused("command line", format!("{} {}", target.option, target.dir.display()), cause)
}

fn is_hidden(component: Component<'_>) -> bool {
    component.as_os_str().as_encoded_bytes().starts_with(b".")
}

/// The path made absolute, links resolved as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let Some((above, known)) = known else { return path };
    let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
    rest.components().fold(known, |mut path, component| {
        match component {
            Component::ParentDir => _ = path.pop(),
            other => path.push(other),
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target<'a>(option: &'static str, dir: &'a Path) -> Target<'a> {
        Target { option, dir }
    }

    #[test]
    fn a_target_in_an_input_directory_is_refused_unless_it_is_hidden_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("in/deep")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("in/file"), "x").unwrap();
        std::os::unix::fs::symlink(at("in"), at("link")).unwrap();
        let inputs = [at("other"), at("in")];
        for bad in ["in", "in/", "in/new", "in/deep/new", "link", "link/new", "other/../in", "none/../in/x"] {
            let failure = not_read(&target("--output", &at(bad)), &inputs).unwrap_err();
            assert_eq!(failure.code, 2, "{bad}");
            assert!(failure.at.starts_with("--output ") && failure.cause.contains("/in"), "{failure}");
        }
        for good in ["out", "in/.out", "in/.millstream/checkpoints", "input", "."] {
            not_read(&target("--output", &at(good)), &inputs).unwrap();
        }
        // A file is read alone.
        not_read(&target("--output", &at("in/out")), &[at("in/file")]).unwrap();
    }

    #[test]
    fn a_target_that_cannot_be_made_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "in the way").unwrap();
        for bad in ["file", "file/below/deep"] {
            let failure = writable(&target("--dead-letter", &dir.path().join(bad))).unwrap_err();
            assert!(failure.code == 2 && failure.cause.contains("file: not a directory"), "{failure}");
        }
        writable(&target("--dead-letter", &dir.path().join("new/deep"))).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_targets_are_neither_the_same_nor_one_in_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (a, b, how) in
            [("out", "out", "is also"), ("out/x", "out", "is below"), ("out", "out/x/y", "is above")]
        {
            let failure = apart(&target("--output", &at(a)), &target("--dead-letter", &at(b))).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.cause.starts_with(how) && failure.cause.contains("--dead-letter"), "{failure}");
        }
        apart(&target("--output", &at("out")), &target("--dead-letter", &at("output"))).unwrap();
    }
}
