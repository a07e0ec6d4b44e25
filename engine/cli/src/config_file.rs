//! The configuration file: TOML, whose tables are the parts of the keys.

use crate::failure::Failure;
use millstream::config::{Config, Key, Origin};
use std::path::Path;
use toml::Value;

/// Reads a file into a configuration.
///
/// # Errors
/// A file that cannot be read, is not TOML, or holds an entry that is refused; the file is named.
pub fn read(path: &Path, into: &mut Config) -> Result<(), Failure> {
    let refused = |cause: String| Failure::refused("read configuration", path.display().to_string(), cause);
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    for Entry { key, value, quoted } in entries(&text).map_err(refused)? {
        let shown = if quoted { format!("{value:?}") } else { value.clone() };
        let at = format!("{}: {key} = {shown}", path.display());
        let known = Key::named(&key).filter(|_| !value.trim().eq_ignore_ascii_case("none"));
        if let Some(known) = known.filter(|known| known.is_bare() == quoted) {
            let cause = match quoted {
                true => format!("expected {}, without quotes", known.form()),
                false => format!("expected a string, in quotes: {}", known.form()),
            };
            return Err(Failure::refused("configuration", at, cause));
        }
        into.set(&key, &value, Origin::File).map_err(|error| Failure { at, ..Failure::from(error) })?;
    }
    Ok(())
}

/// One entry: its whole name, its value, and whether that is a string.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    key: String,
    value: String,
    quoted: bool,
}

/// The entries of a file's text, with their whole names.
fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        format!("line {}: {}", line.unwrap_or(1), error.message())
    })?;
    let mut entries = Vec::new();
    for (key, value) in table {
        flatten(key, value, &mut entries)?;
    }
    Ok(entries)
}

fn flatten(key: String, value: Value, entries: &mut Vec<Entry>) -> Result<(), String> {
    let quoted = value.is_str();
    let value = match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        // With its point, so that 3.0 is no whole number.
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(flag) => flag.to_string(),
        Value::Table(table) => {
            for (name, value) in table {
                flatten(format!("{key}.{name}"), value, entries)?;
            }
            return Ok(());
        }
        Value::Array(_) | Value::Datetime(_) => {
            return Err(format!("{key}: expected a string, a number or true or false"));
        }
    };
    entries.push(Entry { key, value, quoted });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_dots_and_quotes_spell_the_same_key() {
        for text in [
            "execution.checkpointing.interval = \"10s\"",
            "[execution.checkpointing]\ninterval = \"10s\"",
            "\"execution.checkpointing.interval\" = '10s'",
            "execution = { checkpointing = { interval = \"10s\" } }",
        ] {
            let (key, value) = ("execution.checkpointing.interval".to_owned(), "10s".to_owned());
            assert_eq!(entries(text), Ok(vec![Entry { key, value, quoted: true }]), "{text}");
        }
        let plain = entries("parallelism.default = 4\ntask.pinning = false\na.b = 1.5").unwrap();
        let values: Vec<&str> = plain.iter().map(|entry| entry.value.as_str()).collect();
        assert_eq!(values, ["1.5", "4", "false"]);
    }

    #[test]
    fn what_is_not_toml_is_refused_with_its_line() {
        assert!(entries("a = 1\nb = \n").unwrap_err().starts_with("line 2: "));
        assert_eq!(entries("a = [1]"), Err("a: expected a string, a number or true or false".to_owned()));
    }

    #[test]
    fn ms_082_a_value_of_the_wrong_type_is_refused_with_the_allowed_form() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.toml");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let failure = read(&path, &mut Config::new()).unwrap_err();
            assert_eq!(failure.code, 2);
            (failure.at.split_once(": ").unwrap().1.to_owned(), failure.cause)
        };
        let (key, whole) = ("parallelism.default", "expected a whole number");
        for (value, cause) in
            [("3.0", whole), ("\"3\"", "expected a whole number, without quotes"), ("true", whole)]
        {
            let (at, said) = refused(&format!("{key} = {value}"));
            assert_eq!(at, format!("{key} = {value}"));
            assert!(said.starts_with(cause), "{said}");
        }
        let (at, cause) = refused("task.pinning = \"false\"");
        assert_eq!(
            (at.as_str(), cause.as_str()),
            ("task.pinning = \"false\"", "expected true | false, without quotes")
        );
        let (at, cause) = refused("execution.checkpointing.dir = 5");
        assert_eq!(
            (at.as_str(), cause.as_str()),
            ("execution.checkpointing.dir = 5", "expected a string, in quotes: a path, or none")
        );
        let (_, cause) = refused("execution.checkpointing.interval = 10");
        assert!(cause.contains("quotes"), "{cause}");
        std::fs::write(
            &path,
            "parallelism.default = 3\npipeline.max-parallelism = 'none'\ntask.pinning = false\n",
        )
        .unwrap();
        read(&path, &mut Config::new()).unwrap();
    }

    #[test]
    fn ms_082_an_entry_that_is_refused_names_file_and_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.toml");
        std::fs::write(&path, "checkpoint_intervall = \"10s\"\n").unwrap();
        let failure = read(&path, &mut Config::new()).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.at.contains("job.toml") && failure.at.contains("checkpoint_intervall"), "{failure}");
        assert_eq!(failure.hint.as_deref(), Some("did you mean execution.checkpointing.interval?"));
        let failure = read(&dir.path().join("none.toml"), &mut Config::new()).unwrap_err();
        assert_eq!((failure.code, failure.what.as_str()), (2, "read configuration"));
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.toml");
        std::fs::write(&path, "parallelism.default = 4\nexchange.ring-segments = 8\n").unwrap();
        let mut config = Config::new();
        config.set("parallelism.default", "2", Origin::Define).unwrap();
        read(&path, &mut config).unwrap();
        assert_eq!((config.pipeline.parallelism, config.exchange.ring_segments), (2, 8));
    }
}
