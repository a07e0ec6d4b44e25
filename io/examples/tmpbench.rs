use millstream_io::connector::FileSink;
use millstream_io::id::CheckpointId;
use millstream_io::sink::*;
use millstream_io::storage::fault::FaultStorage;
use millstream_io::storage::*;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
fn cx(storage: Arc<dyn Storage>) -> SinkContext {
    SinkContext {
        subtask: 0,
        parallelism: 1,
        job_id: "0123456789abcdef0123456789abcdef".into(),
        line: 1,
        checkpointing: true,
        storage,
        clock: Arc::new(millstream_io::clock::ManualClock::new()),
        counters: Default::default(),
    }
}
fn main() {
    // small simulated job
    let n = 2000;
    for fault in [false, true] {
        let t = Instant::now();
        for i in 0..n {
            let m = MemoryStorage::new();
            let s: Arc<dyn Storage> =
                if fault { Arc::new(FaultStorage::new(Arc::new(m.clone()))) } else { Arc::new(m.clone()) };
            let mut snap = vec![];
            for round in 0..2 {
                let mut k = FileSink::<String, _>::lines("/out");
                k.prepare(&cx(s.clone()), &snap, &[]).unwrap();
                k.open(cx(s.clone()), snap.clone()).unwrap();
                for c in 0..3 {
                    for _ in 0..10 {
                        k.write("hello").unwrap();
                    }
                    let p =
                        k.pre_commit(Epoch { id: CheckpointId(round * 3 + c + 1), close: c == 2 }).unwrap();
                    if let Some(w) = p.work {
                        w().unwrap();
                    }
                    s.create_dir_all(Path::new("/chk/job/chk-1")).unwrap();
                    s.publish(Path::new("/chk/job/chk-1/_metadata"), b"xxxxxxxxxxx").unwrap();
                    snap = p.state;
                    k.commit(CheckpointId(round * 3 + c + 1)).unwrap();
                }
            }
            std::hint::black_box(m.crash_image(i));
        }
        println!(
            "fault {fault}: small job with 2 attempts, 6 checkpoints, image: {:.1} us",
            t.elapsed().as_secs_f64() * 1e6 / n as f64
        );
    }
    let dir = std::env::temp_dir().join("msbench");
    let _ = std::fs::remove_dir_all(&dir);
    let mut k = FileSink::<String, _>::lines(&dir);
    let s: Arc<dyn Storage> = Arc::new(DiskStorage::new());
    k.prepare(&cx(s.clone()), &[], &[]).unwrap();
    k.open(cx(s), vec![]).unwrap();
    let line = "0123456789abcdef0123456789abcdef0123456789";
    let t = Instant::now();
    let n = 10_000_000u64;
    for _ in 0..n {
        k.write(line).unwrap();
    }
    println!(
        "disk lines: {:.1} ns/record, {:.0} MB/s",
        t.elapsed().as_secs_f64() * 1e9 / n as f64,
        n as f64 * 43.0 / 1e6 / t.elapsed().as_secs_f64()
    );
    drop(k);
    let mut k = FileSink::<(String, i64), _>::csv("/out");
    let s: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    k.prepare(&cx(s.clone()), &[], &[]).unwrap();
    k.open(cx(s), vec![]).unwrap();
    let t = Instant::now();
    for i in 0..n {
        k.write(("some-key", i as i64)).unwrap();
    }
    println!("memory csv: {:.1} ns/record", t.elapsed().as_secs_f64() * 1e9 / n as f64);
    let _ = std::fs::remove_dir_all(&dir);
}
