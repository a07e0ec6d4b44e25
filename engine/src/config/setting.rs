//! How one value is read from text and written back.

use super::units::{ByteSize, DURATION_FORM, format_duration, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// A type of value that a key can have.
pub(super) trait Setting: Sized {
    /// The allowed form, in words that go on from "expected".
    fn form() -> String;

    /// Whether TOML has a type for it, so that it stands there without quotes.
    fn is_bare() -> bool {
        false
    }

    /// Reads a value.
    fn parse(text: &str) -> Result<Self, String>;

    /// Writes it so that [`Setting::parse`] reads it back.
    fn show(&self) -> String;
}

impl Setting for Duration {
    fn form() -> String {
        DURATION_FORM.to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        parse_duration(text)
    }

    fn show(&self) -> String {
        format_duration(*self)
    }
}

impl Setting for ByteSize {
    fn form() -> String {
        Self::FORM.to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for bool {
    fn form() -> String {
        "true | false".to_owned()
    }

    fn is_bare() -> bool {
        true
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("expected true or false".to_owned()),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for u32 {
    fn form() -> String {
        "a whole number".to_owned()
    }

    fn is_bare() -> bool {
        true
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits => Ok(number),
            _ => Err("expected a whole number".to_owned()),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for f64 {
    fn form() -> String {
        "a number".to_owned()
    }

    fn is_bare() -> bool {
        true
    }

    fn parse(text: &str) -> Result<Self, String> {
        let number = text.trim().parse::<Self>().ok().filter(|n| n.is_finite());
        number.ok_or_else(|| "expected a number, such as 1.5".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for PathBuf {
    fn form() -> String {
        "a path".to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains('\0') {
            return Err("expected a path".to_owned());
        }
        Ok(Self::from(text))
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl<T: Setting> Setting for Option<T> {
    fn form() -> String {
        format!("{}, or none", T::form())
    }

    fn is_bare() -> bool {
        T::is_bare()
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(None);
        }
        T::parse(text).map(Some)
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::show)
    }
}
