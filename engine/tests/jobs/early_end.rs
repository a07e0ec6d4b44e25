//! An input may end before the last subtask has begun.

use millstream::connector::Collection;
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::{CheckpointId, ConnectorError, Env, Sink};
use std::sync::{Arc, Barrier};

/// A sink that opens only when the source has emitted its last record, which wakes it: the source's end of data then
/// is reported before this subtask runs.
#[derive(Clone)]
struct Late(Arc<Barrier>);

impl Sink for Late {
    type In = u64;
    type State = ();

    fn open(&mut self, _: SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        self.0.wait();
        // The source has only its report left to make; let it run.
        (0..100).for_each(|_| std::thread::yield_now());
        Ok(())
    }

    fn write(&mut self, _: u64) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn pre_commit(&mut self, _: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        Ok(PreCommit { state: Vec::new(), work: None })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        Ok(())
    }
}

#[test]
fn an_end_of_data_before_all_subtasks_run_is_not_forgotten() {
    for _ in 0..20 {
        let both = Arc::new(Barrier::new(2));
        let emitted = both.clone();
        let env = Env::new();
        env.source(Collection::new(vec![1u64]))
            .filter(move |_| {
                emitted.wait();
                true
            })
            .rebalance()
            .sink(Late(both));
        assert_eq!(env.execute("late").unwrap().records_in, 1);
    }
}
