//! Who owns the checkpoint that a start is told to go on from (CL-02).

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::config::ClaimMode;
use millstream::connector::CollectSink;
use millstream_io::storage::{MemoryStorage, Storage};

/// The job's, with CLAIM: it goes when the first one of the job's own is there. Otherwise it stays as it is.
#[test]
fn cl_02_the_claim_mode_of_a_start_decides_whose_the_checkpoint_is() {
    for (mode, kept) in [(ClaimMode::Claim, false), (ClaimMode::NoClaim, true)] {
        let (disk, source) = (MemoryStorage::new(), Fed::new(10));
        let job = || {
            let (env, sink) = (env(), CollectSink::new());
            env.source(source.clone()).name("in").uid("in").sink(sink).uid("out");
            env
        };
        let mut hand = Hand::begin(&job(), &disk);
        hand.checkpoint();
        let path = hand.control.metrics().last_checkpoint.expect("completed").path;
        drop(hand);
        let (disk, env) = (disk.kill_image(), job());
        env.configure(|settings| {
            settings.recovery.path = Some(path.clone());
            settings.recovery.claim_mode = mode;
        });
        let mut hand = Hand::begin(&env, &disk);
        assert!(disk.stat(&path).is_ok(), "there is no other yet");
        hand.checkpoint();
        hand.settle();
        assert_eq!(disk.stat(&path).is_ok(), kept, "{mode:?}");
        source.end();
        hand.finish().unwrap();
    }
}
