//! The jobs.

use crate::Options;
use crate::outside::Outside;
use crate::slow::Slow;
use millstream::connector::{FileSink, FileSource};
use millstream::{Chain, Env, Stream};
use std::path::PathBuf;
use std::thread;

/// Longest line: a little more than 1 MiB.
const LONGEST: usize = 2 << 20;

fn read(env: &Env, options: &Options, inputs: Vec<PathBuf>) -> Stream<impl Chain<Out = Vec<u8>> + use<>> {
    let source = FileSource::lines(inputs).follow(options.follow).max_record_size(LONGEST);
    let lines = env.source(source);
    match options.sources {
        Some(subtasks) => lines.parallelism(subtasks),
        None => lines,
    }
}

fn write<C: Chain<Out = Vec<u8>>>(lines: Stream<C>, options: &Options) {
    let files = FileSink::lines(&options.output).roll_size(options.roll).ignore_missing(options.forgive);
    lines.sink(Slow::new(files, &options.slow)).uid("sink");
}

pub(crate) fn copy(env: &Env, options: &Options) {
    write(read(env, options, options.inputs.clone()).uid("source"), options);
}

pub(crate) fn union(env: &Env, options: &Options) {
    let [slow, fast] = options.inputs.as_slice() else { panic!("a union of two inputs") };
    let pause = options.branch_delay;
    let slow = read(env, options, vec![slow.clone()]).uid("slow").map(move |line| {
        thread::sleep(pause);
        line.to_vec()
    });
    let fast = read(env, options, vec![fast.clone()]).uid("fast");
    write(slow.union(fast), options);
}

pub(crate) fn shuffle(env: &Env, options: &Options) {
    let lines = read(env, options, options.inputs.clone()).uid("source");
    write(lines.rebalance().map(found).uid("check"), options);
}

/// What is found of `number,checksum,payload`.
fn found(line: &[u8]) -> Vec<u8> {
    let mut fields = line.splitn(3, |byte| *byte == b',');
    let [number, sum, payload] = [(); 3].map(|()| fields.next().unwrap_or_default());
    let found = format!("{:08x}", crc32fast::hash(payload));
    let right = if found.as_bytes() == sum { "right" } else { "wrong" };
    format!("{},{},{right}", String::from_utf8_lossy(number), payload.len()).into_bytes()
}

pub(crate) fn running(env: &Env, options: &Options) {
    let counts = read(env, options, options.inputs.clone())
        .uid("source")
        .key_by::<Vec<u8>>(|line| key(line.get()))
        .process::<u64, Vec<u8>>("running", |cx, _, count, out| {
            *count += 1;
            let mut row = cx.key().to_vec();
            row.extend(format!(",{count}").bytes());
            out.emit(&row);
        })
        .uid("running");
    write(counts, options);
}

fn key(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b',').next().unwrap_or_default()
}

pub(crate) fn outside(env: &Env, options: &Options) {
    let system = Outside::new(options.output.clone(), options.forgive);
    let lines = read(env, options, options.inputs.clone()).uid("source");
    lines.sink(Slow::new(system, &options.slow)).uid("sink");
}
