//! How input is shared among subtasks.

use super::*;
use crate::format::{Csv, Lines};
use proptest::prelude::*;

/// Bytes that each subtask has to read.
fn loads<F: Format>(world: &World, source: &FileSource<F>, parallelism: usize) -> Vec<u64> {
    let splits = source.clone().discover(&world.scene(parallelism).context(0)).unwrap();
    let share = |subtask| split::share(splits.clone(), subtask, parallelism);
    (0..parallelism).map(|subtask| share(subtask).iter().map(FileSplit::left).sum()).collect()
}

#[test]
fn ruling_37_one_large_file_is_read_by_all_subtasks_within_a_factor_of_two() {
    // 20 MB in place of 200.
    let world = World::disk();
    let mut plain = Vec::new();
    let mut quoted = Vec::new();
    for i in 0..400_000u32 {
        plain.extend_from_slice(format!("key{},{i},some more text for length\n", i % 1000).as_bytes());
        quoted.extend_from_slice(
            format!("key{},\"line {i}\n\"\"with\"\" a break, and\ntwo\"\n", i % 1000).as_bytes(),
        );
    }
    world.write("plain", &plain);
    world.write("quoted", &quoted);
    for parallelism in [2, 3, 8] {
        for (name, len) in [("plain", plain.len()), ("quoted", quoted.len())] {
            let loads = loads(&world, &world.csv(&[name]), parallelism);
            assert_eq!(loads.iter().sum::<u64>(), len as u64);
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(*most <= 2 * *least, "{name}: {loads:?}");
        }
    }
    let mut running = Running::fresh(&world, &world.csv(&["quoted"]), 3);
    running.drain().unwrap();
    let counts: Vec<_> = running.outs.iter().map(|out| out.records.len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 400_000);
    assert!(counts.iter().all(|n| *n > 100_000), "{counts:?}");
}

#[test]
fn many_small_files_are_spread_evenly() {
    let world = World::memory();
    for i in 0..100 {
        world.write(&format!("f{i}"), "0123456789\n".repeat(1 + i % 3));
    }
    let loads = loads(&world, &world.lines(&[""]), 4);
    assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 33, "{loads:?}");
}

/// Files of any bytes that matter, read in stretches of any size, must give what reading each as a whole gives.
fn any_file() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"\"\"ab,\n\n\r".to_vec()), 0..200)
}

fn divided<F: Format<Out: Shown>>(
    source: impl Fn(&World) -> FileSource<F>,
    files: &[Vec<u8>],
    (smallest, parallelism, buffer): (u64, usize, usize),
) -> (Vec<String>, Vec<String>, [(u64, u64); 2]) {
    let world = World::memory();
    for (i, file) in files.iter().enumerate() {
        world.write(&format!("f{i}"), file);
    }
    let mut source = source(&world).bad_records(BadRecordPolicy::Skip).smallest_split(smallest);
    source.settings.buffer = buffer;
    let mut whole = Running::fresh(&world, &source, 1);
    whole.drain().unwrap();
    let mut parts = Running::fresh(&world, &source, parallelism);
    parts.drain().unwrap();
    (whole.sorted(), parts.sorted(), [rejected(&whole.scene), rejected(&parts.scene)])
}

/// By a look at each byte: outside of quotes, an opening quote, and whether a closing one is followed by the field's end.
fn goes_on_behind_quote(record: &[u8]) -> bool {
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    let (mut at, mut start) = (0, true);
    while at < record.len() {
        if !(start && record[at] == b'"') {
            start = record[at] == b',';
            at += 1;
            continue;
        }
        at += 1;
        while record[at] != b'"' || record.get(at + 1) == Some(&b'"') {
            at += if record[at] == b'"' { 2 } else { 1 };
        }
        at += 1;
        if at < record.len() && record[at] != b',' {
            return true;
        }
        start = false;
    }
    false
}

proptest! {
    #[test]
    fn lines_are_the_same_however_the_files_are_divided(
        files in prop::collection::vec(any_file(), 1..4), smallest in 1u64..40, parallelism in 1usize..5,
        buffer in 1usize..40, limit in 3usize..50, header: bool,
    ) {
        let source = |world: &World| world.lines(&[""]).max_record_size(limit).header(header);
        let (whole, parts, counts) = divided::<Lines>(source, &files, (smallest, parallelism, buffer));
        let mut want: Vec<String> = files
            .iter()
            .flat_map(|file| {
                let text = std::str::from_utf8(file).unwrap();
                text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|_| !text.is_empty()).skip(header.into())
            })
            .filter(|line| line.len() <= limit)
            .map(str::to_owned)
            .collect();
        want.sort();
        prop_assert_eq!(&whole, &want);
        prop_assert_eq!(parts, want);
        prop_assert_eq!(counts[0], counts[1]);
    }

    #[test]
    fn csv_records_are_the_same_however_the_files_are_divided(
        files in prop::collection::vec(any_file(), 1..4), smallest in 1u64..40, parallelism in 1usize..5,
        buffer in 1usize..40, limit in 3usize..50, header: bool, bom: bool,
    ) {
        let marked: Vec<Vec<u8>> =
            files.iter().map(|file| [if bom { crate::format::BOM } else { b"" }, file].concat()).collect();
        let source = |world: &World| world.csv(&[""]).max_record_size(limit).header(header);
        let (whole, parts, counts) = divided::<Csv>(source, &marked, (smallest, parallelism, buffer));
        prop_assert_eq!(&whole, &parts);
        prop_assert_eq!(counts[0], counts[1]);
        let mut want: Vec<String> = files
            .iter()
            .flat_map(|file| {
                let records = crate::format::testing::whole_records(file);
                records.into_iter().skip(header.into()).filter(|record| record.len() <= limit && !goes_on_behind_quote(record))
            })
            .map(|record| String::from_utf8(record.to_vec()).unwrap())
            .collect();
        want.sort();
        prop_assert_eq!(whole, want);
    }
}
