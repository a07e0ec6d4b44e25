//! How fast files are read; run by hand: `cargo test --release -p millstream-io speed -- --ignored --nocapture`.

use super::*;
use crate::emit::Emit;
use crate::record::Record;

/// Counts what it is given and looks at a byte of it.
#[derive(Default)]
struct Count {
    records: u64,
    bytes: u64,
}

impl Emit<Vec<u8>> for Count {
    #[inline]
    fn emit(&mut self, record: &[u8]) {
        self.records += 1;
        self.bytes += record.len() as u64;
    }
}

impl Emit<crate::format::CsvLine> for Count {
    #[inline]
    fn emit(&mut self, record: <crate::format::CsvLine as Record>::Ref<'_>) {
        self.records += 1;
        self.bytes += record.line.len() as u64;
    }
}

/// Time that this thread has spent on a processor, in ns: what other processes take does not count.
fn cpu_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

fn time<T>(what: &str, bytes: u64, work: impl Fn() -> T) -> T {
    let mut best = u64::MAX;
    let mut last = None;
    for _ in 0..5 {
        let begin = cpu_time();
        last = Some(work());
        best = best.min(cpu_time() - begin);
    }
    println!("{what}: {:.2} GB/s", bytes as f64 / best as f64);
    last.unwrap()
}

fn read<F: Format>(world: &World, source: &FileSource<F>) -> u64
where
    Count: Emit<F::Out>,
{
    let cx = world.scene(1).context(0);
    let mut source = source.clone();
    let splits = source.discover(&cx).unwrap();
    source.open(cx, splits).unwrap();
    let mut out = Count::default();
    while source.poll(&mut out).unwrap() != Poll::Done {}
    std::hint::black_box(out.bytes);
    out.records
}

#[test]
#[ignore = "takes time and a quiet machine: cargo test --release -p millstream-io speed -- --ignored --nocapture"]
fn lines_and_csv_from_cached_files() {
    let world = World::disk();
    let rows = |row: &dyn Fn(u32) -> String| (0..2_000_000).map(row).collect::<String>();
    world.write("short", rows(&|i| format!("{}\n", i % 1000)));
    world.write("plain", rows(&|i| format!("key{},{i},some more text for length, and more\n", i % 1000)));
    world.write("quoted", rows(&|i| format!("key{},\"some {i} text, quoted\",\"and\nmore\"\n", i % 1000)));
    for name in ["short", "plain", "quoted"] {
        let len = world.storage.stat(&world.path(name)).unwrap().len;
        let raw = crate::storage::read_all(&*world.storage, &world.path(name)).unwrap();
        time(&format!("{name}: bare memchr over memory"), len, || memchr::memchr_iter(b'\n', &raw).count());
        time(&format!("{name}: lines"), len, || read(&world, &world.lines(&[name])));
        let records = time(&format!("{name}: CSV"), len, || read(&world, &world.csv(&[name])));
        assert_eq!(records, 2_000_000);
        let cx = world.scene(4).context(0);
        time(&format!("{name}: pre-scan"), len, || world.csv(&[name]).discover(&cx).unwrap());
    }
}

#[test]
#[ignore = "takes time and a quiet machine: cargo test --release -p millstream-io speed -- --ignored --nocapture"]
fn a_generator_of_integers() {
    struct Sum(u64);
    impl Emit<u64> for Sum {
        #[inline]
        fn emit(&mut self, record: u64) {
            self.0 = self.0.wrapping_add(record ^ (record >> 7));
        }
    }
    let n = 1_000_000_000;
    time("generator (records/ns)", n, || {
        let cx = World::memory().scene(1).context(0);
        let mut source = crate::connector::Generator::new(n, |i| i);
        let splits = source.discover(&cx).unwrap();
        source.open(cx, splits).unwrap();
        let mut out = Sum(0);
        while source.poll(&mut out).unwrap() != Poll::Done {}
        std::hint::black_box(out.0)
    });
}
