use super::*;
use crate::executor::{Executor, StepExecutor};
use crate::scratch::{Budget, DiskScratch, MemoryScratch};

const MIB: usize = 1 << 20;

fn supply(scratch: Arc<dyn Scratch>) -> (Supply, StepExecutor) {
    let executor = StepExecutor::new();
    (Supply::new(scratch, Arc::new(executor.clone())), executor)
}

/// How many bytes of memory there are at some addresses, as the system tells.
#[expect(clippy::disallowed_methods, reason = "a test asks the system about its process")]
fn resident(from: usize, len: usize) -> usize {
    let told = String::from_utf8(std::fs::read("/proc/self/smaps").unwrap()).unwrap();
    let (mut within, mut bytes) = (false, 0);
    for line in told.lines() {
        let mut words = line.split([' ', '-']);
        let (first, second) = (words.next().unwrap(), words.next().unwrap_or(""));
        if let (Ok(start), Ok(end)) = (usize::from_str_radix(first, 16), usize::from_str_radix(second, 16)) {
            within = start < from + len && from < end;
        } else if within && first == "Rss:" {
            let kib = line.split_whitespace().nth(1).unwrap();
            bytes += kib.parse::<usize>().unwrap() << 10;
        }
    }
    bytes
}

/// By hand: 64 KiB, the rest of 2 MiB, then an eighth of what there is in whole huge pages, from 2 MiB to 64 MiB.
#[test]
fn pieces_begin_small_and_grow_with_the_range() {
    let (mut at, mut pieces) = (0, Vec::new());
    for _ in 0..12 {
        pieces.push(piece(at) >> 10);
        at += piece(at);
    }
    assert_eq!(pieces, [64, 1984, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048]);
    assert_eq!([32, 40, 512, 4096].map(|mib| piece(mib * MIB) / MIB), [4, 4, 64, 64]);
}

#[test]
fn what_was_written_stays_where_it_is_while_the_range_grows() {
    for memory in [0, 3 * MIB as u64, u64::MAX] {
        let dir = tempfile::tempdir().unwrap();
        let disk = DiskScratch::new(dir.path().to_owned(), Budget::new(memory));
        let (supply, executor) = supply(Arc::new(disk));
        let mut region = Region::new(64 * MIB, supply).unwrap();
        let mut start = None;
        for (index, len) in (0..48 * MIB).step_by(MIB / 2).enumerate() {
            region.reach(len + 1).unwrap();
            assert_eq!(*start.get_or_insert(region.as_ptr()), region.as_ptr());
            assert_eq!(region[len], 0);
            region[len] = index as u8;
            if index % 3 == 0 {
                executor.run_all();
            }
        }
        let read: Vec<u8> = region.iter().step_by(MIB / 2).take(96).copied().collect();
        assert_eq!(read, (0..96).collect::<Vec<u8>>());
    }
}

/// Files take over where the budget ends, and all of it comes back.
#[test]
fn memory_is_used_as_far_as_the_budget_goes() {
    let scratch = Arc::new(MemoryScratch::with_memory(5 * MIB as u64));
    let (supply, executor) = supply(scratch.clone());
    let mut region = Region::new(64 * MIB, supply.clone()).unwrap();
    region.reach(5 * MIB).unwrap();
    assert_eq!((scratch.used(), scratch.asked()), (4 * MIB as u64, 1), "2 MiB, 2 MiB, and 2 MiB of a file");
    let mut other = Region::new(64 * MIB, supply).unwrap();
    other.reach(MIB).unwrap();
    let files = scratch.asked();
    assert_eq!((scratch.used(), files), (4 * MIB as u64 + LEAST as u64, 2), "the smallest piece still fits");
    drop(region);
    drop(other);
    executor.clear();
    assert_eq!(scratch.used(), 0);
}

/// The next piece is begun with the use of the last one, and has all of its memory before it is needed.
#[test]
fn a_piece_is_prepared_ahead() {
    let (supply, executor) = supply(Arc::new(MemoryScratch::new()));
    let mut region = Region::new(64 * MIB, supply).unwrap();
    region.reach(2 * MIB).unwrap();
    assert_eq!(executor.len(), 1, "the range has outgrown small ones");
    let all = (region.as_ptr() as usize, 64 * MIB);
    assert_eq!(resident(all.0, all.1), 0);
    executor.run_all();
    assert_eq!(resident(all.0, all.1), 2 * MIB, "the memory was found in the background");
    region.reach(3 * MIB).unwrap();
    assert_eq!((region.len(), executor.len()), (4 * MIB, 1));
    region.reach(4 * MIB).unwrap();
    assert_eq!((region.len(), executor.len()), (4 * MIB, 1), "once");
}

/// Whoever needs a piece that nobody has begun with makes it, and who comes later has nothing to do.
#[test]
fn nobody_waits_for_an_executor_that_has_not_begun() {
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    let (supply, executor) = supply(scratch.clone());
    let mut region = Region::new(64 * MIB, supply).unwrap();
    region.reach(2 * MIB).unwrap();
    let asked = scratch.asked();
    region.reach(4 * MIB).unwrap();
    assert_eq!(scratch.asked(), asked + 1);
    executor.run(0);
    assert_eq!(scratch.asked(), asked + 1);
    region.reach(20 * MIB).unwrap();
    assert_eq!(region.len(), 20 * MIB);
}

/// MS-069 for scratch: the error names the file, what is there stays, and with room it goes on.
#[test]
fn ms_069_no_room_for_a_file_is_an_error_and_later_it_goes_on() {
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    let (supply, executor) = supply(scratch.clone());
    let mut region = Region::new(64 * MIB, supply).unwrap();
    scratch.full_at(2);
    scratch.full_at(3);
    region.reach(2 * MIB).unwrap();
    region[0] = 1;
    executor.run_all();
    assert_eq!(scratch.refused(), 1, "in the background, where nobody needs it yet");
    let error = region.reach(3 * MIB).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(error.to_string(), "allocate scratch/3: No space left on device (os error 28)");
    assert_eq!((region.len(), region[0], scratch.refused()), (2 * MIB, 1, 2));
    region.reach(3 * MIB).unwrap();
    assert_eq!(region.len(), 4 * MIB);
}

#[test]
fn a_range_that_is_used_up_says_so() {
    let mut region = Region::new(3 * MIB, Supply::default()).unwrap();
    region.reach(3 * MIB).unwrap();
    let error = region.reach(3 * MIB + 1).unwrap_err();
    assert!(matches!(&error, ScratchError::Memory { bytes, .. } if *bytes == 3 * MIB), "{error}");
    assert_eq!(region.len(), 3 * MIB);
}

/// What is prepared outlives the range that it was for, and no longer.
#[test]
fn a_range_may_go_while_a_piece_is_prepared() {
    let scratch = Arc::new(MemoryScratch::new());
    let (supply, executor) = supply(scratch.clone());
    let mut region = Region::new(64 * MIB, supply).unwrap();
    region.reach(2 * MIB).unwrap();
    drop(region);
    assert_eq!(scratch.used(), 2 * MIB as u64);
    executor.run_all();
    assert_eq!(scratch.used(), 0);
    let _: &dyn Executor = &executor;
}
