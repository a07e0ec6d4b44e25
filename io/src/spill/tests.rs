use super::*;
use crate::scratch::{Budget, DiskScratch, MemoryScratch};
use crate::segment::Writer;
use proptest::prelude::*;
use std::io::ErrorKind;

/// `rows` numbers from `first` on.
fn segment(first: u64, rows: u64) -> Segment<u64> {
    let mut writer = Writer::closed();
    writer.open(Segment::new(64 << 10));
    (first..first + rows).for_each(|n| assert!(writer.push(0, n)));
    writer.close().unwrap()
}

fn numbers(segment: &Segment<u64>) -> Vec<u64> {
    segment.iter_from(0).map(|row| row.view()).collect()
}

fn in_memory(most: usize) -> (Spill, Arc<MemoryScratch>) {
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    (Spill::new(scratch.clone(), most), scratch)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Beside it a model that has all the numbers in vectors. Segments come and go in any order; what is there stays as it
    /// is, within the limit, and a segment is refused only where files of that size are used up.
    #[test]
    fn what_was_put_stays_until_it_is_dropped(
        most in prop::sample::select(vec![70_001, 1 << 20, 9 << 20]),
        turns in prop::collection::vec((1u64..8000, any::<prop::sample::Index>(), 0usize..4), 1..400),
    ) {
        let (mut spill, scratch) = in_memory(most);
        let mut held: Vec<(Spilled<u64>, Vec<u64>)> = Vec::new();
        for (n, (rows, which, what)) in turns.into_iter().enumerate() {
            match what {
                0 if !held.is_empty() => drop(held.swap_remove(which.index(held.len()))),
                1 if n % 16 == 0 => spill.shrink(),
                _ => match spill.put(&segment(n as u64 * 10_000, rows)) {
                    Ok(spilled) => held.push((spilled, (n as u64 * 10_000..).take(rows as usize).collect())),
                    Err(SpillError::Limit { wanted, .. }) => prop_assert!(wanted as usize > most && !held.is_empty()),
                    Err(error) => return Err(TestCaseError::fail(error.to_string())),
                },
            }
            prop_assert!(spill.bytes() as usize <= most);
        }
        for (spilled, model) in &held {
            prop_assert_eq!(&numbers(spilled), model);
        }
        prop_assert!(scratch.asked() > 0 || held.is_empty());
    }
}

/// 100 times 32 KiB through a window of ten: that is one block of 4 MiB that cannot come back while it is filled, and one
/// more to go on in.
#[test]
fn room_is_used_again_when_what_was_in_it_has_been_read() {
    let (mut spill, scratch) = in_memory(1 << 30);
    let mut window = VecDeque::new();
    for n in 0..2000 {
        window.push_back(spill.put(&segment(n, 4096)).unwrap());
        if window.len() > 10 {
            let oldest: Spilled<u64> = window.pop_front().unwrap();
            assert_eq!(oldest.row(0).view(), n - 10);
        }
    }
    assert_eq!((spill.bytes(), scratch.asked()), (8 << 20, 2));
}

#[test]
fn a_small_limit_is_one_small_file() {
    let (mut spill, scratch) = in_memory(100 << 10);
    let held: Vec<_> = (0..3).map(|n| spill.put(&segment(n, 4096)).unwrap()).collect();
    assert_eq!((spill.bytes(), scratch.asked()), (100 << 10, 1));
    let error = spill.put(&segment(3, 4096)).unwrap_err();
    // 100 KiB are used, 32 KiB were asked for.
    assert_eq!(error.to_string(), "135168 bytes in files, more than the 102400 allowed");
    drop(held);
    assert_eq!(numbers(&spill.put(&segment(3, 2)).unwrap()), [3, 4]);
}

#[test]
fn a_limit_of_nothing_takes_nothing() {
    let (mut spill, scratch) = in_memory(0);
    assert!(matches!(spill.put(&segment(0, 1)), Err(SpillError::Limit { wanted: 64, most: 0 })));
    assert_eq!(scratch.asked(), 0);
}

/// A row that is larger than a block has a file of its own, which is not kept.
#[test]
fn a_large_row_has_a_file_of_its_own() {
    let (mut spill, _) = in_memory(1 << 30);
    let text = "x".repeat(5 << 20);
    let large = spill.put(&Segment::<String>::single(0, &text)).unwrap();
    assert_eq!(large.row(0).view(), text);
    let small = spill.put(&segment(1, 1)).unwrap();
    assert!(spill.bytes() > 9 << 20);
    drop(large);
    spill.shrink();
    assert_eq!(spill.bytes(), 4 << 20);
    assert_eq!(numbers(&small), [1]);
}

#[test]
fn what_is_empty_is_given_back_except_for_a_little() {
    let (mut spill, _) = in_memory(1 << 30);
    let held: Vec<_> = (0..1000).map(|n| spill.put(&segment(n, 4096)).unwrap()).collect();
    assert_eq!(spill.bytes(), 32 << 20);
    spill.shrink();
    assert_eq!(spill.bytes(), 32 << 20, "all of it is in use");
    drop(held);
    spill.shrink();
    assert_eq!(spill.bytes(), 8 << 20);
}

#[test]
fn a_full_disk_takes_nothing_and_loses_nothing() {
    let (mut spill, scratch) = in_memory(1 << 30);
    scratch.full_at(1);
    let held: Vec<_> = (0..128).map(|n| spill.put(&segment(n, 4096)).unwrap()).collect();
    let refused = segment(128, 4096);
    let Err(SpillError::Scratch(error)) = spill.put(&refused) else { panic!("the disk is full") };
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(spill.bytes(), 4 << 20);
    let again = spill.put(&refused).unwrap();
    assert_eq!(again.row(0).view(), 128);
    assert!(held.iter().enumerate().all(|(n, spilled)| spilled.row(0).view() == n as u64));
}

/// The real thing: files, without names, which are gone with the last one who uses them.
#[test]
fn files_have_no_names() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = DiskScratch::new(dir.path().to_owned(), Budget::new(0));
    let mut spill = Spill::new(Arc::new(scratch), 1 << 30);
    let held: Vec<_> = (0..300).map(|n| spill.put(&segment(n, 4096)).unwrap()).collect();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    drop(spill);
    assert!(
        held.iter()
            .enumerate()
            .all(|(n, spilled)| numbers(spilled) == (n as u64..).take(4096).collect::<Vec<_>>())
    );
}
