//! Loops on threads.

use millstream::Env;
use millstream::config::{ByteSize, TaskThreads};
use millstream::connector::{CollectSink, Collection};

/// A loop whose body makes more of what it gets than its rings hold, with a head that takes in what it can: what has no
/// room stands aside, in memory and in files, and nothing stands still. Of each number below a thousand come a binary tree
/// of seven generations: 2^7 leaves.
#[test]
fn it_03_a_loop_that_is_full_does_not_stand_still() {
    for threads in [TaskThreads::PerSubtask, TaskThreads::PerCore] {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::new();
        env.configure(|settings| {
            settings.exchange.segment_size = ByteSize::kb(1);
            settings.exchange.ring_segments = 2;
            settings.checkpointing.alignment_memory = ByteSize::kb(8);
            settings.pipeline.parallelism = 2;
            settings.task.threads = threads;
            settings.task.local_dir = Some(dir.path().to_owned());
        });
        let sink = CollectSink::new();
        let leaves = sink.collected();
        let numbers = env.source(Collection::new((0..1_000u64).map(|n| (n, 7u64)).collect::<Vec<_>>()));
        let ended = numbers.iterate(|numbers| {
            let (back, out) = numbers.fork();
            let back = back.filter(|(_, left)| left > 0).flat_map::<(u64, u64)>(|(n, left), out| {
                (0..2).for_each(|_| out.emit((n, left - 1)));
            });
            (back, out.filter(|(_, left)| left == 0))
        });
        ended.map(|(n, _)| n).sink(sink);
        let summary = env.execute("tree").unwrap();
        assert_eq!((summary.records_in, summary.records_out), (1_000, 128_000));
        let mut leaves = leaves.take();
        leaves.sort_unstable();
        assert!(leaves.into_iter().eq((0..1_000).flat_map(|n| std::iter::repeat_n(n, 128))));
    }
}
