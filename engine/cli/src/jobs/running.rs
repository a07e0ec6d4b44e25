//! `running`: the sum so far of each key, for every record.

use super::csv::{Unusable, add, amount, key, row};
use super::options::Common;
use super::rejects::{Outcome, Parse, Settle};
use crate::job_args::{BuildError, JobArgs};
use millstream::Env;
use millstream_io::format::CsvLine;

/// Key, number, and the record itself, for when the sum overflows.
type Parsed = (Vec<u8>, i64, CsvLine);

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let common: Common = args.options()?;
    common.validate(&env.config())?;
    let (mut scratch, mut out_row) = (Vec::new(), Vec::new());
    let parse = Parse::<_, Parsed>::new(&common, "running", move |record, out| {
        let n = amount(record.line)?;
        out.emit((key(record.line, &mut scratch), n, record));
        Ok(())
    });
    let sums = common
        .csv(env, false)
        .apply(parse)
        .uid("parse")
        .key_by::<Vec<u8>>(|record| record.0)
        .process::<i64, Outcome>("running", move |_, (key, n, record), sum, out| match add(*sum, n) {
            Ok(total) => {
                *sum = total;
                row(&mut out_row, key, [total]);
                out.emit((&out_row, record.file, record.offset, None));
            }
            Err(Unusable::Overflow { sum, n }) => {
                out.emit((record.line, record.file, record.offset, Some((sum, n))));
            }
            Err(_) => {}
        })
        .uid("running")
        .apply(Settle::new(&common, "running"))
        .uid("settle");
    common.write(sums, ".csv", args);
    Ok(())
}
