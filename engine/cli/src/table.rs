//! Tables for people.

/// Columns to the left, two spaces between them, no space at the end of a line.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count());
        cells.chain([head[i].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut text = line(&mut head.iter().copied());
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// A duration in ms for a person: two units at most.
pub fn duration(ms: u64) -> String {
    let (s, m, h) = (1000, 60_000, 3_600_000);
    match ms {
        0..1000 => format!("{ms}ms"),
        1000..60_000 => format!("{}.{}s", ms / s, ms % s / 100),
        60_000..3_600_000 => format!("{}min {}s", ms / m, ms % m / s),
        3_600_000..86_400_000 => format!("{}h {}min", ms / h, ms % h / m),
        _ => format!("{}d {}h", ms / (24 * h), ms % (24 * h) / h),
    }
}

/// A number of bytes for a person.
pub fn bytes(n: u64) -> String {
    let units = ["kb", "mb", "gb", "tb"];
    let mut value = n as f64;
    let mut name = "b";
    for unit in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        name = unit;
    }
    if name == "b" { format!("{n}b") } else { format!("{value:.1}{name}") }
}

/// A moment in ms since the epoch as `2020-01-31 23:59:59`, UTC.
pub fn moment(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    let (year, month, day) = civil(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// The date of a day counted from 1970-01-01, walked year by year and month by month.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // Whole periods of 400 years first, so that the walk is short whatever the clock says.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "long cell".to_owned()], vec!["wide".to_owned(), String::new()]];
        assert_eq!(table(&["x", "y"], &rows), "x     y\na     long cell\nwide\n");
    }

    #[test]
    fn figures_for_people() {
        for (ms, text) in
            [(7, "7ms"), (1500, "1.5s"), (61_000, "1min 1s"), (3_660_000, "1h 1min"), (90_000_000, "1d 1h")]
        {
            assert_eq!(duration(ms), text);
        }
        assert_eq!(
            (bytes(1023).as_str(), bytes(1536).as_str(), bytes(5 << 30).as_str()),
            ("1023b", "1.5kb", "5.0gb")
        );
    }

    /// Dates from the calendar: a leap day, the last second of a year, a century that is no leap year.
    #[test]
    fn moments_are_civil_dates() {
        for (ms, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400_000, "2000-02-29 00:00:00"),
            (1_577_836_799_999, "2019-12-31 23:59:59"),
            (4_107_542_400_000, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(moment(ms), text);
        }
    }
}
