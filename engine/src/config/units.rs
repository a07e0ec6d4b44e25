//! Durations and sizes as people write them: a whole number and a unit, never a bare number (ruling 23, MS-082).

use std::fmt;
use std::time::Duration;

/// The longest duration that is taken: a hundred years. Sums of moments and durations cannot overflow below it.
pub const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 3600 + 25 * 24 * 3600);

const DURATION_UNITS: [(&str, u64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("min", 60 * 1_000_000),
    ("h", 3600 * 1_000_000),
    ("d", 24 * 3600 * 1_000_000),
];

const SIZE_UNITS: [(&str, u64); 5] =
    [("b", 1), ("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30), ("tb", 1 << 40)];

/// A number of bytes.
///
/// ```
/// use millstream::config::ByteSize;
///
/// assert_eq!(ByteSize::parse("64 mb"), Ok(ByteSize::mb(64)));
/// assert_eq!(ByteSize::kb(20).to_string(), "20kb");
/// assert!(ByteSize::parse("4096").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The allowed form, for messages and the reference page.
    pub const FORM: &'static str = "a whole number with a unit (b, kb, mb, gb, tb), such as 64mb";

    /// `n` KiB.
    pub const fn kb(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn mb(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    pub const fn gb(n: u64) -> Self {
        Self(n << 30)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Reads a size: powers of 1024, a space before the unit is allowed, upper and lower case are one.
    ///
    /// # Errors
    /// Why the text is no size, and what is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let limit = i64::MAX as u64;
        parse_with_unit(text, &SIZE_UNITS, Self::FORM, limit, "8388607tb").map(Self)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = largest_unit(self.0, &SIZE_UNITS);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

/// The allowed form of a duration, for messages and the reference page.
pub const DURATION_FORM: &str = "a whole number with a unit (us, ms, s, min, h, d), such as 500ms or 10s";

/// Reads a duration.
///
/// ```
/// use millstream::config::parse_duration;
/// use std::time::Duration;
///
/// assert_eq!(parse_duration("5min"), Ok(Duration::from_secs(300)));
/// assert!(parse_duration("10").is_err());
/// ```
///
/// # Errors
/// Why the text is no duration, and what is.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let limit = u64::try_from(MAX_DURATION.as_micros()).unwrap_or(u64::MAX);
    parse_with_unit(text, &DURATION_UNITS, DURATION_FORM, limit, "36525d").map(Duration::from_micros)
}

/// Writes a duration with the largest unit that loses nothing; below a microsecond it is cut.
pub fn format_duration(duration: Duration) -> String {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros == 0 {
        return "0ms".to_owned();
    }
    let (unit, factor) = largest_unit(micros, &DURATION_UNITS);
    format!("{}{unit}", micros / factor)
}

fn largest_unit(value: u64, units: &[(&'static str, u64)]) -> (&'static str, u64) {
    let fits = units.iter().rev().find(|(_, factor)| value >= *factor && value.is_multiple_of(*factor));
    *fits.unwrap_or(&units[0])
}

fn parse_with_unit(
    text: &str,
    units: &[(&str, u64)],
    form: &str,
    limit: u64,
    limit_text: &str,
) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start().to_ascii_lowercase();
    if number.is_empty() {
        return Err(format!("expected {form}"));
    }
    if unit.is_empty() {
        return Err(format!("the unit is missing; expected {form}"));
    }
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("expected {form}"));
    };
    let value = number.parse::<u64>().ok().and_then(|n| n.checked_mul(*factor)).filter(|v| *v <= limit);
    value.ok_or_else(|| format!("too large, the most is {limit_text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_082_durations_take_every_unit_and_a_space() {
        let good = [
            ("7us", Duration::from_micros(7)),
            ("250ms", Duration::from_millis(250)),
            ("10s", Duration::from_secs(10)),
            ("10 s", Duration::from_secs(10)),
            (" 5 min ", Duration::from_secs(300)),
            ("1h", Duration::from_secs(3600)),
            ("1D", Duration::from_secs(86_400)),
            ("0ms", Duration::ZERO),
            ("36525d", MAX_DURATION),
        ];
        for (text, value) in good {
            assert_eq!(parse_duration(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn ms_082_what_is_no_duration_is_refused_with_the_allowed_form() {
        for text in ["", "10", "-1s", "1e3ms", "1.5s", "s", "ms10", "10 sec", "10 s s", "0x1s", "٣s", "1 0s"]
        {
            let refused = parse_duration(text).unwrap_err();
            assert!(refused.contains("us, ms, s, min, h, d"), "{text}: {refused}");
        }
    }

    #[test]
    fn ms_082_a_bare_number_is_told_that_its_unit_is_missing() {
        assert!(parse_duration("10").unwrap_err().starts_with("the unit is missing"));
        assert!(ByteSize::parse("4096 ").unwrap_err().starts_with("the unit is missing"));
    }

    #[test]
    fn ms_082_a_duration_beyond_a_century_is_refused_and_never_wraps() {
        for text in ["36526d", "99999999999999d", "18446744073709551616us", "99999999999999999999999999ms"] {
            assert_eq!(parse_duration(text), Err("too large, the most is 36525d".to_owned()), "{text}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        let good = [
            ("1b", 1),
            ("4kb", 4096),
            ("64 MB", 67_108_864),
            ("1gb", 1_073_741_824),
            ("1tb", 1_099_511_627_776),
        ];
        for (text, bytes) in good {
            assert_eq!(ByteSize::parse(text), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["4096", "-1kb", "1kib", "1.5gb", "kb", "1e3b"] {
            assert!(ByteSize::parse(text).unwrap_err().contains("b, kb, mb, gb, tb"), "{text}");
        }
        assert_eq!(ByteSize::parse("8388608tb"), Err("too large, the most is 8388607tb".to_owned()));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for micros in [0, 1, 999, 1000, 1_500_000, 60_000_000, 90_000_000, 3_600_000_000, 86_400_000_000] {
            let duration = Duration::from_micros(micros);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
        assert_eq!(format_duration(Duration::from_millis(1500)), "1500ms");
        assert_eq!(format_duration(Duration::from_secs(600)), "10min");
        for bytes in [0, 1, 1023, 1024, 1025, 20 << 10, 4 << 20, 1 << 30, i64::MAX as u64] {
            assert_eq!(ByteSize::parse(&ByteSize(bytes).to_string()), Ok(ByteSize(bytes)));
        }
    }
}
