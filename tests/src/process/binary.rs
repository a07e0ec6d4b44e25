//! Which binary is tested.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The release binary of the command: the one that `MILLSTREAM_BIN` names, else the one of this repository, built if it
/// is missing or older than its sources.
///
/// # Panics
/// It cannot be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| given("MILLSTREAM_BIN").unwrap_or_else(|| built("millstream-cli", "millstream")))
}

/// The release binary of the jobs in `tests/trials`: the one that `MILLSTREAM_TRIALS` names, else built as the command is.
///
/// # Panics
/// It cannot be built.
pub fn trials() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| given("MILLSTREAM_TRIALS").unwrap_or_else(|| built("trials", "trials")))
}

fn given(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

fn built(package: &str, name: &str) -> PathBuf {
    // target/<profile>/deps/<this test>
    let test = std::env::current_exe().expect("a test knows where it is");
    let target = test.ancestors().nth(3).expect("tests are in a target directory");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--package", package, "--target-dir"]).arg(target);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(cargo.status().expect("cargo runs").success(), "the release binary of {package} does not build");
    target.join("release").join(name)
}

/// Whether the long forms of the tests are asked for, with `MILLSTREAM_LONG=1`.
pub fn long() -> bool {
    std::env::var_os("MILLSTREAM_LONG").is_some_and(|asked| asked != "0")
}
