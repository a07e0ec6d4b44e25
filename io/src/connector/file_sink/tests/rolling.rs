//! When a file is closed.

use super::harness::*;
use crate::clock::Clock;
use crate::connector::FileSink;
use crate::sink::Sink;
use std::time::Duration;

#[test]
fn ms_032_checkpoints_without_data_make_no_files_and_no_work() {
    let (memory, setting) = memory();
    let mut attempt = setting.first();
    let before = names(&memory);
    for _ in 0..600 {
        attempt.clock.advance(Duration::from_millis(100));
        let now = attempt.clock.now();
        assert_eq!(attempt.sinks[0].tick(now).unwrap(), Some(now + Duration::from_secs(60)));
        let (snapshot, works) = attempt.barrier(false).unwrap();
        assert!(works.is_empty());
        assert_eq!(snapshot.state.len(), 1, "the counter alone");
        attempt.commit(snapshot.id).unwrap();
    }
    assert_eq!(names(&memory), before);
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(visible(&memory), Vec::<String>::new());
}

/// 10 records a second, a checkpoint every 100 ms, a file a minute: 3 minutes make 3 files, not 1,800.
#[test]
fn ms_032_the_number_of_files_follows_the_rolling_rule() {
    let (memory, setting) = memory();
    let mut attempt = setting.first();
    let mut durable = Snapshot::default();
    for _ in 0..1800 {
        attempt.write(1).unwrap();
        attempt.clock.advance(Duration::from_millis(100));
        let now = attempt.clock.now();
        attempt.sinks[0].tick(now).unwrap();
        attempt.checkpoint(false, &mut durable).unwrap();
    }
    assert_eq!(visible(&memory), ["part-0-0", "part-0-1", "part-0-2"]);
    assert_eq!(visible_lines(&memory), lines(0..1800));
}

#[test]
fn an_inactive_file_is_closed_and_the_tick_says_when() {
    let (memory, setting) = memory();
    let sink = FileSink::lines(DIR).roll_when_inactive(Duration::from_secs(10));
    let mut attempt = Setting { sink, ..setting }.first();
    let secs = Duration::from_secs;
    attempt.write(1).unwrap();
    assert_eq!(
        attempt.sinks[0].tick(secs(3)).unwrap(),
        Some(secs(13)),
        "the record came between 0 s and 3 s"
    );
    assert_eq!(attempt.sinks[0].tick(secs(12)).unwrap(), Some(secs(13)));
    attempt.write(1).unwrap();
    assert_eq!(attempt.sinks[0].tick(secs(13)).unwrap(), Some(secs(23)));
    assert_eq!(attempt.sinks[0].tick(secs(23)).unwrap(), Some(secs(33)), "a file begun now is due then");
    attempt.checkpoint(false, &mut Snapshot::default()).unwrap();
    assert_eq!(visible_lines(&memory), lines(0..2));
}

#[test]
fn a_file_holds_at_most_the_roll_size_and_one_record() {
    let (memory, setting) = memory();
    let mut attempt = setting.rolling(300_000).first();
    attempt.write(100_000).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    let lens = visible_lens(&memory);
    let total: u64 = (0..100_000).map(|n| (line(n).len() + 1) as u64).sum();
    assert_eq!(lens.iter().sum::<u64>(), total);
    let (last, full) = lens.split_last().unwrap();
    assert!(full.iter().all(|len| (300_000..300_016).contains(len)), "{lens:?}");
    assert!(*last < 300_016);
}

/// Also where every barrier finds less than that in the buffer.
#[test]
fn a_file_holds_at_most_the_roll_size_and_one_record_however_often_barriers_come() {
    let (memory, setting) = memory();
    let mut attempt = setting.rolling(1_000).first();
    let mut durable = Snapshot::default();
    for _ in 0..100 {
        attempt.write(10).unwrap();
        attempt.checkpoint(false, &mut durable).unwrap();
    }
    attempt.checkpoint(true, &mut durable).unwrap();
    let lens = visible_lens(&memory);
    let (last, full) = lens.split_last().unwrap();
    assert!(full.iter().all(|len| (1_000..1_016).contains(len)) && *last < 1_016, "{lens:?}");
    assert_eq!(visible_lines(&memory), lines(0..1_000));
}

/// More files in an epoch than are held open: all of them are durable and visible in the end.
#[test]
fn many_small_files_in_one_epoch() {
    let (memory, setting) = memory();
    let mut attempt = setting.rolling(1).first();
    attempt.write(500).unwrap();
    attempt.checkpoint(true, &mut Snapshot::default()).unwrap();
    assert_eq!(visible_lines(&memory.crash_image(0)), lines(0..500));
}
