//! Options that the bundled jobs have in common.

use super::overlap::{Target, apart, not_read, writable};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use millstream::config::{ByteSize, Config, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Options that the bundled jobs have in common.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Common {
    /// File or directory to read; may be given several times. Of a directory: the regular files in it and
    /// below, without symbolic links and names that begin with a dot.
    #[arg(long = "input", value_name = "PATH", required = true)]
    pub inputs: Vec<PathBuf>,

    /// Directory of the output files, part-<subtask>-<n>; names of files that are not committed begin with a dot.
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,

    /// Keep reading appended and new files.
    #[arg(long)]
    pub follow: bool,

    /// Size at which an output file is closed, to be committed with the next checkpoint. A file is also closed 60 s
    /// after its first record, and when the job is stopped.
    #[arg(long, value_name = "SIZE", default_value = "128mb", value_parser = roll_size, allow_hyphen_values = true)]
    pub roll_size: ByteSize,

    /// Pause for every record that is read, to slow a run down.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub delay: Option<Duration>,

    /// Go on although output that a checkpoint counts on is gone: what was in those files is lost, and their number is
    /// said in the end. Without it such a job is refused.
    #[arg(long)]
    pub ignore_missing: bool,

    /// What is done with a record that cannot be used.
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    pub bad_records: BadRecordsOption,

    /// Directory of the records that could not be used, for --bad-records dead-letter.
    #[arg(long, value_name = "DIR")]
    pub dead_letter: Option<PathBuf>,

    /// Longest record that is read.
    #[arg(long, value_name = "SIZE", default_value = "1mb", value_parser = record_size, allow_hyphen_values = true)]
    pub max_record_size: ByteSize,
}

/// What is done with a record that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BadRecordsOption {
    /// The job fails.
    Fail,
    /// It is counted and left out.
    Skip,
    /// It is counted and kept with its place in a file of --dead-letter.
    DeadLetter,
}

fn record_size(text: &str) -> Result<ByteSize, String> {
    let size = ByteSize::parse(text)?;
    // A record must fit a segment of its own, with room to spare for what goes with it.
    if size == ByteSize(0) || size > ByteSize::gb(1) {
        return Err("expected a size from 1b to 1gb".to_owned());
    }
    Ok(size)
}

fn roll_size(text: &str) -> Result<ByteSize, String> {
    match ByteSize::parse(text)? {
        ByteSize(0) => Err("expected a size of at least 1b".to_owned()),
        size => Ok(size),
    }
}

impl Common {
    /// Whether the options go together, and with the configuration.
    ///
    /// # Errors
    /// They do not.
    pub fn validate(&self, config: &Config) -> Result<(), Failure> {
        let refused = |at: &str, cause: &str| Err(Failure::refused("command line", at, cause));
        match (self.bad_records, &self.dead_letter) {
            (BadRecordsOption::DeadLetter, None) => {
                return refused("--bad-records dead-letter", "needs --dead-letter DIR");
            }
            (BadRecordsOption::Fail | BadRecordsOption::Skip, Some(_)) => {
                return refused("--dead-letter", "needs --bad-records dead-letter");
            }
            _ => {}
        }
        let output = Target { option: "--output", dir: &self.output };
        let dead_letter = self.dead_letter.as_ref().map(|dir| Target { option: "--dead-letter", dir });
        // Without an interval nothing is written there.
        let checkpoints = config.checkpointing.interval.and(config.checkpointing.dir.as_ref());
        let checkpoints = checkpoints.map(|dir| Target { option: "execution.checkpointing.dir", dir });
        if let Some(dead_letter) = &dead_letter {
            apart(&output, dead_letter)?;
            writable(dead_letter)?;
        }
        let targets = [Some(output), dead_letter, checkpoints];
        targets.iter().flatten().try_for_each(|target| not_read(target, &self.inputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Job {
        #[command(flatten)]
        common: Common,
    }

    fn parse(line: &str) -> Result<Common, clap::Error> {
        Job::try_parse_from(std::iter::once("job").chain(line.split_whitespace())).map(|job| job.common)
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let common = parse("--input a --input b --output o").unwrap();
        assert_eq!(common.inputs, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!((common.bad_records, common.max_record_size), (BadRecordsOption::Fail, ByteSize::mb(1)));
        assert_eq!(common.roll_size, ByteSize::mb(128));
        assert_eq!((common.follow, common.delay, &common.dead_letter), (false, None, &None));
        common.validate(&Config::new()).unwrap();
    }

    #[test]
    fn input_and_output_are_required_and_sizes_and_durations_have_units() {
        for bad in [
            "--output o",
            "--input a --output o --roll-size 0b",
            "--input a --output o --roll-size 64",
            "--input a",
            "--input a --output o --delay 5",
            "--input a --output o --max-record-size 1000",
            "--input a --output o --max-record-size 0b",
            "--input a --output o --bad-records drop",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let common = parse("--input a --output o --delay 300us --max-record-size 64kb --follow").unwrap();
        assert_eq!(common.delay, Some(Duration::from_micros(300)));
        assert_eq!((common.max_record_size, common.follow), (ByteSize::kb(64), true));
    }

    #[test]
    fn dead_letters_need_a_directory_and_a_directory_needs_dead_letters() {
        let base = "--input a --output o";
        parse(&format!("{base} --bad-records dead-letter --dead-letter d"))
            .unwrap()
            .validate(&Config::new())
            .unwrap();
        assert_eq!(
            parse(&format!("{base} --bad-records dead-letter"))
                .unwrap()
                .validate(&Config::new())
                .unwrap_err()
                .code,
            2
        );
        assert_eq!(
            parse(&format!("{base} --dead-letter d")).unwrap().validate(&Config::new()).unwrap_err().code,
            2
        );
    }
}
