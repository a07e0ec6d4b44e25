//! A job from source to sink, on threads.

use millstream::connector::{Collection, Generator};
use millstream::{ConnectorError, Env, Sink, sink};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Default)]
struct Gather(Arc<Mutex<Vec<(u64, u64)>>>, Vec<(u64, u64)>);

impl Sink for Gather {
    type In = (u64, u64);
    type State = (u64, u64);
    fn open(&mut self, _: sink::SinkContext, restored: Vec<(u64, u64)>) -> Result<(), ConnectorError> {
        self.1 = restored;
        Ok(())
    }
    fn write(&mut self, record: (u64, u64)) -> Result<(), ConnectorError> {
        self.1.push(record);
        Ok(())
    }
    fn pre_commit(&mut self, _: sink::Epoch) -> Result<sink::PreCommit<(u64, u64)>, ConnectorError> {
        Ok(sink::PreCommit { state: self.1.clone(), work: None })
    }
    fn commit(&mut self, _: millstream::CheckpointId) -> Result<(), ConnectorError> {
        self.0.lock().unwrap().append(&mut self.1);
        Ok(())
    }
}

#[test]
fn counts_by_key_over_an_exchange() {
    let env = Env::new();
    let out = Gather::default();
    env.source(Generator::new(100_000, |i| i % 1000))
        .parallelism(2)
        .map(|n| (n, 1u64))
        .key_by::<u64>(|r| r.0)
        .process::<u64, (u64, u64)>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit((key, *count)))
        .parallelism(3)
        .sink(out.clone());
    let summary = env.execute("count").unwrap();
    assert_eq!(summary.records_in, 100_000);
    let rows: BTreeMap<_, _> = out.0.lock().unwrap().iter().copied().collect();
    assert_eq!(rows.len(), 1000);
    assert!(rows.values().all(|n| *n == 100), "{rows:?}");
}

#[test]
fn finishes_with_a_final_checkpoint() {
    let env = Env::new();
    env.configure(|s| s.checkpointing.interval = Some(Duration::from_secs(600)));
    let out = Gather::default();
    env.source(Collection::new(vec![(1u64, 2u64), (3, 4)])).sink(out.clone());
    let summary = env.execute("final").unwrap();
    assert_eq!(summary.checkpoints_completed, 1);
    assert_eq!(*out.0.lock().unwrap(), [(1, 2), (3, 4)]);
}
