//! `ACCEPTANCE.md` names tests that exist.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The texts between backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Every line of a table that names a file names a test that stands in it.
#[test]
fn every_test_in_the_table_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let table = fs::read_to_string(root.join("tests/ACCEPTANCE.md")).unwrap();
    let mut sources = HashMap::new();
    let mut named = 0;
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let mut parts = quoted(line);
        let (Some(file), Some(test)) = (parts.next().filter(|file| file.ends_with(".rs")), parts.next())
        else {
            continue;
        };
        let source = sources.entry(file).or_insert_with(|| {
            fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
        });
        let function = format!("fn {test}(");
        let at = source.find(&function).unwrap_or_else(|| panic!("no test {test} in {file}"));
        let above = &source[..at];
        let marked = above.rfind("#[test]").is_some_and(|mark| !above[mark..].contains("fn "));
        assert!(marked, "{test} in {file} is no test");
        named += 1;
    }
    assert!(named > 250, "only {named} tests were found in the table");
}
