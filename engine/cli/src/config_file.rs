//! The configuration file: TOML, whose tables are the parts of the keys.

use crate::failure::Failure;
use millstream::config::{Config, Origin};
use std::path::Path;
use toml::Value;

/// Reads a file into a configuration.
///
/// # Errors
/// A file that cannot be read, is not TOML, or holds an entry that is refused; the file is named.
pub fn read(path: &Path, into: &mut Config) -> Result<(), Failure> {
    let refused = |cause: String| Failure::refused("read configuration", path.display().to_string(), cause);
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    for (key, value) in entries(&text).map_err(refused)? {
        into.set(&key, &value, Origin::File).map_err(|error| {
            let failure = Failure::from(error);
            Failure { at: format!("{}: {} = {value}", path.display(), key), ..failure }
        })?;
    }
    Ok(())
}

/// The entries of a file's text, with their whole names.
fn entries(text: &str) -> Result<Vec<(String, String)>, String> {
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

fn flatten(key: String, value: Value, entries: &mut Vec<(String, String)>) -> Result<(), String> {
    let text = match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
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
    entries.push((key, text));
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
            let wanted = vec![("execution.checkpointing.interval".to_owned(), "10s".to_owned())];
            assert_eq!(entries(text), Ok(wanted), "{text}");
        }
        let plain = entries("parallelism.default = 4\ntask.pinning = false\na.b = 1.5").unwrap();
        let values: Vec<&str> = plain.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["1.5", "4", "false"]);
    }

    #[test]
    fn what_is_not_toml_is_refused_with_its_line() {
        assert!(entries("a = 1\nb = \n").unwrap_err().starts_with("line 2: "));
        assert_eq!(entries("a = [1]"), Err("a: expected a string, a number or true or false".to_owned()));
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
