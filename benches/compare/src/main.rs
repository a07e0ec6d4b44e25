//! `millstream-compare stores|dataflow [ROUNDS]`: see ../README.md.

mod dataflow;
mod fjall;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod rounds;
mod store;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next();
    let rounds = arguments.next().map_or(Ok(3), |rounds| rounds.parse());
    let outcome = match (what.as_deref(), rounds) {
        (Some("stores"), Ok(rounds)) => store::compare(rounds),
        (Some("dataflow"), Ok(rounds)) => dataflow::compare(rounds),
        _ => Err("usage: millstream-compare stores|dataflow [ROUNDS]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
