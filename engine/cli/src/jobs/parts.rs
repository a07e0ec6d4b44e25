//! What the bundled jobs have in common: sources, the pause, the sink.

use super::options::{BadRecordsOption, Common};
use crate::job_args::JobArgs;
use millstream::connector::{BadRecordPolicy, FileSink, FileSource};
use millstream::{Chain, Env, Stream};
use millstream_io::format::{Csv, CsvLine, Format, Lines};
use std::time::Duration;

impl Common {
    /// The input as lines, any bytes.
    pub(super) fn lines(&self, env: &Env) -> Stream<impl Chain<Out = Vec<u8>> + use<>> {
        self.read(env, FileSource::lines(self.inputs.clone()))
    }

    /// The input as CSV records; with `header`, the first one of each file is left out.
    pub(super) fn csv(&self, env: &Env, header: bool) -> Stream<impl Chain<Out = CsvLine> + use<>> {
        self.read(env, FileSource::<Csv>::csv(self.inputs.clone()).header(header))
    }

    /// The source, and the pause right behind it: were it behind an exchange, barriers would wait for all the records
    /// in front of it, and a slowed job would take no checkpoints.
    fn read<F: Format>(&self, env: &Env, source: FileSource<F>) -> Stream<impl Chain<Out = F::Out> + use<F>> {
        let source = source
            .follow(self.follow)
            .max_record_size(self.max_record_size.as_usize())
            .bad_records(self.policy());
        let delay = self.delay.unwrap_or(Duration::ZERO);
        let pause = move |_: <F::Out as millstream::Record>::Ref<'_>| {
            if !delay.is_zero() {
                std::thread::sleep(delay);
            }
            true
        };
        env.source(source).uid("source").filter(pause).uid("delay")
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

    /// Ends a stream of output lines: the files.
    pub(super) fn write<C: Chain<Out = Vec<u8>>>(&self, lines: Stream<C>, suffix: &str, args: &mut JobArgs) {
        let files = FileSink::<Vec<u8>, Lines>::lines(&self.output).suffix(suffix);
        let files = files.roll_size(self.roll_size.0).ignore_missing(self.ignore_missing);
        lines.sink(files.clone()).uid("sink");
        args.warn_at_end(move || {
            let lost = files.lost_files();
            (lost > 0).then(|| format!("{lost} output files were gone; what was in them is lost"))
        });
    }
}
