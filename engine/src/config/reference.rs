//! The reference page, written from the table of keys so that it cannot differ from the code.

use super::keys::NO_EFFECT;
use super::{KEYS, Settings};
use std::fmt::Write;

/// The page in Markdown.
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    let defaults = Settings::default();
    for key in KEYS {
        let _ = write!(page, "\n### `{}`\n\n{}\n\n", key.name, key.doc);
        let _ = writeln!(page, "- Value: {}", key.form());
        if !key.limit.is_empty() {
            let _ = writeln!(page, "- Allowed: {}", key.limit);
        }
        let _ = writeln!(page, "- Default: `{}`", key.show(&defaults));
        if !key.old.is_empty() {
            let names: Vec<String> = key.old.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(page, "- Old names: {}", names.join(", "));
        }
    }
    page.push_str(ACCEPTED);
    for key in NO_EFFECT {
        let _ = writeln!(page, "- `{}`: {}.", key.name, key.instead);
    }
    page
}

const ACCEPTED: &str = "
## Keys without effect

Accepted with `true` or `false`, so that an older configuration need not be changed. Whatever they say:

";

const HEAD: &str = "\
# Configuration

Written from the code by its tests; a test fails when the two differ. Rewrite with
`MILLSTREAM_WRITE_REFERENCE=1 cargo test -p millstream config`.

An entry is `key = value`: on the command line `-D key=value`, in a file a TOML entry, in a program
`Config::set` or `Config::edit`. What is given on the command line goes before what the program says, that before the
file, and the file before the defaults. Unknown keys and values outside the allowed form are refused before the first
record is read. An old name is accepted; where both are given, the new name counts.

Durations are a whole number and one of `us ms s min h d`; sizes a whole number and one of `b kb mb gb tb` (powers of
1024). A bare number is refused.

## Keys
";
