//! `flights`: running totals of flights per airline and per origin.
//!
//! For every flight two lines: `airline,<carrier>,<flights>,<cancelled>,<delay sum>,<worst delay>` and the same for
//! `origin`. At the end of the input a table of the totals goes to stderr.

use super::csv::{Unusable, row};
use super::flights_logic::{By, Totals, delay};
use super::options::Common;
use super::rejects::{Outcome, Parse, Settle};
use crate::job_args::{BuildError, JobArgs};
use crate::table::table;
use clap::Args;
use millstream::Env;
use millstream_io::format::CsvLine;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Options of the job.
#[derive(Args, Clone, Debug)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The first record of each file is a header, and passed over.
    #[arg(long)]
    header: bool,
}

/// What is totalled (its place in [`By::ALL`]), its value, the delay, and the record itself.
type Parsed = (u8, Vec<u8>, Option<i64>, CsvLine);

/// [`Totals`] as a value of state.
type Kept = (i64, i64, i64, i64);

/// The totals at the end of the input.
type AtEnd = Arc<Mutex<BTreeMap<(u8, Vec<u8>), Totals>>>;

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let Options { common, header } = args.options()?;
    common.validate(&env.config())?;
    let mut scratch = Vec::new();
    let parse = Parse::<_, Parsed>::new(&common, "flights", move |record, out| {
        let delay = delay(record.line)?;
        // Both or neither: a record without an origin is none of its airline either.
        By::Origin.of(record.line, &mut scratch)?;
        for (place, by) in (0..).zip(By::ALL) {
            out.emit((place, by.of(record.line, &mut scratch)?, delay, record));
        }
        Ok(())
    });
    let at_end = AtEnd::default();
    let ends = Arc::clone(&at_end);
    let mut out_row = Vec::new();
    let totals = common
        .csv(env, header)
        .apply(parse)
        .uid("parse")
        .key_by::<(u8, Vec<u8>)>(|record| (record.0, record.1))
        .process::<Kept, Outcome>("flights", move |_, (place, value, delay, record), kept, out| {
            match from_kept(*kept).with(delay) {
                Ok(totals) => {
                    *kept = to_kept(totals);
                    line(&mut out_row, place, value, totals);
                    out.emit((&out_row, record.file, record.offset, None));
                }
                Err(Unusable::Overflow { sum, n }) => {
                    out.emit((record.line, record.file, record.offset, Some((sum, n))));
                }
                Err(_) => {}
            }
        })
        .on_end(move |(place, value), kept, _| {
            let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
            ends.insert((place, value.to_vec()), from_kept(*kept));
        })
        .uid("flights")
        .apply(Settle::new(&common, "flights"))
        .uid("settle");
    common.write(totals, ".csv", args);
    let dir = common.output.clone();
    args.at_end(move |summary| {
        let totals = shown(&at_end.lock().unwrap_or_else(PoisonError::into_inner));
        let written = summary.records_out;
        format!(
            "{totals}\n{written} lines, kind,key,flights,cancelled,delay,worst, are in {}/part-*.csv",
            dir.display()
        )
    });
    Ok(())
}

fn from_kept((flights, cancelled, delay_sum, worst): Kept) -> Totals {
    Totals { flights, cancelled, delay_sum, worst }
}

fn to_kept(totals: Totals) -> Kept {
    let [flights, cancelled, delay_sum, worst] = totals.numbers();
    (flights, cancelled, delay_sum, worst)
}

fn word(place: u8) -> &'static str {
    By::ALL.get(usize::from(place)).map_or("", |by| by.word())
}

/// A line of output.
fn line(out: &mut Vec<u8>, place: u8, value: &[u8], totals: Totals) {
    row(out, value, totals.numbers());
    let head = word(place).as_bytes();
    out.splice(0..0, head.iter().copied().chain([b',']));
}

/// The table for people.
fn shown(totals: &BTreeMap<(u8, Vec<u8>), Totals>) -> String {
    if totals.is_empty() {
        return "no flights were read by this process; the totals are the last line of each key in the output".to_owned();
    }
    let rows = totals.iter().map(|((place, value), totals)| {
        let names = [word(*place).to_owned(), String::from_utf8_lossy(value).into_owned()];
        names.into_iter().chain(totals.numbers().map(|n| n.to_string())).collect()
    });
    let head = ["BY", "NAME", "FLIGHTS", "CANCELLED", "DELAY MIN", "WORST MIN"];
    table(&head, &rows.collect::<Vec<_>>()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_is_totalled_its_value_and_the_totals() {
        let totals = Totals { flights: 3, cancelled: 1, delay_sum: -4, worst: 15 };
        let mut out = Vec::new();
        line(&mut out, 0, b"U,A", totals);
        assert_eq!(out, b"airline,\"U,A\",3,1,-4,15");
        line(&mut out, 1, b"EWR", totals);
        assert_eq!(out, b"origin,EWR,3,1,-4,15");
        assert_eq!(from_kept(to_kept(totals)), totals);
    }

    #[test]
    fn the_table_shows_airlines_first() {
        let totals = Totals { flights: 3, cancelled: 1, delay_sum: -4, worst: 15 };
        let all = BTreeMap::from([((1, b"EWR".to_vec()), totals), ((0, b"UA".to_vec()), totals)]);
        let text = shown(&all);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["airline", "UA", "3", "1", "-4", "15"]);
        assert_eq!(lines[2].split_whitespace().next(), Some("origin"));
    }
}
