//! Steps that may meet a record they cannot use: reading it, and adding it up.

use super::csv::Unusable;
use super::options::Common;
use millstream::connector::{BadRecord, BadRecords, RawRecord};
use millstream::storage::DiskStorage;
use millstream::{Collector, ConnectorError, Operator, OperatorContext, Record};
use millstream_io::counters::Counters;
use millstream_io::format::{CsvLine, CsvLineRef};
use std::marker::PhantomData;
use std::sync::Arc;

/// What a keyed step makes of a record: a line of output; or, with the two numbers whose sum would overflow, the
/// record as it stood. File and offset say where it stood.
pub(super) type Outcome = (Vec<u8>, u64, u64, Option<(i64, i64)>);

/// Deals with records that cannot be used, as `--bad-records` says.
#[derive(Clone)]
struct Rejects(BadRecords);

impl Rejects {
    fn new(common: &Common, name: &str) -> Self {
        Self(BadRecords::new(common.policy(), name, common.inputs.clone()))
    }

    fn open(&mut self, cx: OperatorContext) {
        // What is rejected is counted where the engine sees it, in `reject`.
        let subtask = (cx.subtask, cx.parallelism);
        self.0.open(Arc::new(DiskStorage::new()), Arc::new(Counters::default()), subtask);
    }

    fn reject<U: Record>(&mut self, record: CsvLineRef<'_>, reason: &Unusable, out: &mut Collector<'_, U>) {
        let bad = BadRecord {
            what: "use record",
            file: record.file,
            offset: record.offset,
            raw: RawRecord::Bytes(record.line),
            reason,
            hint: Some("--bad-records skip or dead-letter goes on without it"),
        };
        match self.0.reject(&bad) {
            Ok(()) => out.counters().records_rejected.add(1),
            Err(error) => out.fail(error),
        }
    }

    fn sync<U: Record>(&mut self, out: &mut Collector<'_, U>) {
        if let Err(error) = self.0.sync() {
            out.fail(error);
        }
    }
}

/// Reads CSV records with a function that may find one unusable.
pub(super) struct Parse<F, U> {
    f: F,
    rejects: Rejects,
    of: PhantomData<fn() -> U>,
}

impl<F, U> Parse<F, U>
where
    U: Record,
    F: for<'a> FnMut(CsvLineRef<'a>, &mut Collector<'_, U>) -> Result<(), Unusable> + Clone + Send + 'static,
{
    pub(super) fn new(common: &Common, job: &str, f: F) -> Self {
        Self { f, rejects: Rejects::new(common, &format!("{job}-parse")), of: PhantomData }
    }
}

impl<F: Clone, U> Clone for Parse<F, U> {
    fn clone(&self) -> Self {
        Self { f: self.f.clone(), rejects: self.rejects.clone(), of: PhantomData }
    }
}

impl<F, U> Operator for Parse<F, U>
where
    U: Record,
    F: for<'a> FnMut(CsvLineRef<'a>, &mut Collector<'_, U>) -> Result<(), Unusable> + Clone + Send + 'static,
{
    type In = CsvLine;
    type Out = U;
    type State = ();

    fn open(&mut self, cx: OperatorContext, _: Vec<()>) -> Result<(), ConnectorError> {
        self.rejects.open(cx);
        Ok(())
    }

    fn process(&mut self, record: CsvLineRef<'_>, out: &mut Collector<'_, U>) {
        if let Err(reason) = (self.f)(record, out) {
            self.rejects.reject(record, &reason, out);
        }
    }

    fn before_barrier(&mut self, out: &mut Collector<'_, U>) {
        self.rejects.sync(out);
    }

    fn finish(&mut self, out: &mut Collector<'_, U>) {
        self.rejects.sync(out);
    }
}

/// Hands lines of output on, and deals with records whose sum would have overflowed.
#[derive(Clone)]
pub(super) struct Settle(Rejects);

impl Settle {
    pub(super) fn new(common: &Common, job: &str) -> Self {
        Self(Rejects::new(common, job))
    }
}

impl Operator for Settle {
    type In = Outcome;
    type Out = Vec<u8>;
    type State = ();

    fn open(&mut self, cx: OperatorContext, _: Vec<()>) -> Result<(), ConnectorError> {
        self.0.open(cx);
        Ok(())
    }

    fn process(
        &mut self,
        (line, file, offset, overflow): <Outcome as Record>::Ref<'_>,
        out: &mut Collector<'_, Vec<u8>>,
    ) {
        match overflow {
            None => out.emit(line),
            Some((sum, n)) => {
                self.0.reject(CsvLineRef { file, offset, line }, &Unusable::Overflow { sum, n }, out);
            }
        }
    }

    fn before_barrier(&mut self, out: &mut Collector<'_, Vec<u8>>) {
        self.0.sync(out);
    }

    fn finish(&mut self, out: &mut Collector<'_, Vec<u8>>) {
        self.0.sync(out);
    }
}
