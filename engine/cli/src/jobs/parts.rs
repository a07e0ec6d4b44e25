//! What the bundled jobs have in common: sources, the pause, the sink.

use super::options::{BadRecordsOption, Common};
use millstream::config::{ByteSize, Key, Origin};
use millstream::connector::{BadRecordPolicy, FileSink, FileSource};
use millstream::{Chain, Env, Stream};
use millstream_io::format::{Csv, Lines};
use std::time::Duration;

/// Records that are on their way between two subtasks take no longer than this to get through a paused sink.
const PAUSED_IN_FLIGHT: Duration = Duration::from_millis(50);

/// A rough size of a record between two subtasks, in bytes.
const RECORD_BYTES: u128 = 64;

/// Segments that a ring of a paused job holds.
const PAUSED_SEGMENTS: u32 = 4;

/// Size of a segment of a job that pauses for each record: a barrier waits behind the records in the rings, so that
/// full rings of the usual size would make it wait for many seconds.
fn paused_segment(delay: Duration, usual: ByteSize) -> ByteSize {
    let records = PAUSED_IN_FLIGHT.as_nanos() / delay.as_nanos().max(1);
    let bytes = u64::try_from(records * RECORD_BYTES / u128::from(PAUSED_SEGMENTS)).unwrap_or(u64::MAX);
    ByteSize(bytes).clamp(ByteSize::kb(1).min(usual), usual)
}

impl Common {
    /// Sets what the options imply and nobody has set.
    pub(super) fn configure(&self, env: &Env) {
        let Some(delay) = self.delay.filter(|delay| !delay.is_zero()) else { return };
        let config = env.config();
        let unset = |name| Key::named(name).is_some_and(|key| config.origin(key) == Origin::Default);
        if unset("exchange.segment-size") && unset("exchange.ring-segments") {
            env.configure(|settings| {
                settings.exchange.segment_size = paused_segment(delay, settings.exchange.segment_size);
                settings.exchange.ring_segments = settings.exchange.ring_segments.min(PAUSED_SEGMENTS);
            });
        }
    }

    /// The input as lines, any bytes.
    pub(super) fn lines(&self) -> FileSource<Lines> {
        FileSource::lines(self.inputs.clone())
            .follow(self.follow)
            .max_record_size(self.max_record_size.as_usize())
            .bad_records(self.policy())
    }

    /// The input as CSV records.
    pub(super) fn csv(&self) -> FileSource<Csv> {
        FileSource::csv(self.inputs.clone())
            .follow(self.follow)
            .max_record_size(self.max_record_size.as_usize())
            .bad_records(self.policy())
    }

    /// What is done with records that cannot be used.
    pub(super) fn policy(&self) -> BadRecordPolicy {
        match (self.bad_records, &self.dead_letter) {
            (BadRecordsOption::DeadLetter, Some(dir)) => BadRecordPolicy::DeadLetter(dir.clone()),
            (BadRecordsOption::Skip, _) => BadRecordPolicy::Skip,
            // A dead letter without a directory was refused when the options were read.
            (BadRecordsOption::Fail | BadRecordsOption::DeadLetter, _) => BadRecordPolicy::Fail,
        }
    }

    /// The pause for a record.
    pub(super) fn pause(&self) -> impl Fn() + Clone + Send + use<> {
        let delay = self.delay.unwrap_or(Duration::ZERO);
        move || {
            if !delay.is_zero() {
                std::thread::sleep(delay);
            }
        }
    }

    /// Ends a stream that has a line of output for every record: the pause, then the files.
    pub(super) fn pause_and_write<C: Chain<Out = Vec<u8>>>(&self, lines: Stream<C>, suffix: &str) {
        let pause = self.pause();
        let lines = lines.flat_map::<Vec<u8>>(move |line, out| {
            pause();
            out.emit(line);
        });
        self.write(lines.uid("delay"), suffix);
    }

    /// Ends a stream of output lines: the files.
    pub(super) fn write<C: Chain<Out = Vec<u8>>>(&self, lines: Stream<C>, suffix: &str) {
        let files = FileSink::<Vec<u8>, Lines>::lines(&self.output).suffix(suffix);
        lines.sink(files.roll_size(self.roll_size.0)).uid("sink");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_job_keeps_few_records_on_their_way() {
        let usual = ByteSize::kb(32);
        // 50 ms of 300 us are 166 records, in four segments.
        assert_eq!(paused_segment(Duration::from_micros(300), usual), ByteSize(166 * 64 / 4));
        assert_eq!(paused_segment(Duration::from_millis(5), usual), ByteSize::kb(1));
        assert_eq!(paused_segment(Duration::from_nanos(10), usual), usual);
    }
}
