use super::*;
use crate::connector::testing::{Collected, Scene};
use crate::connector::{FileSource, RawRecord};
use crate::format::CsvLine;
use crate::record::Record;
use crate::source::{Poll, Source};
use crate::storage::{MemoryStorage, read_all};
use std::path::Path;

const INPUT: &str = "1,a\n2\n3,c\n4,d,x\n";

struct Fixture {
    storage: MemoryStorage,
    counters: Arc<Counters>,
}

impl Fixture {
    fn new() -> Self {
        let storage = MemoryStorage::new();
        let mut file = storage.create(Path::new("/in.csv")).unwrap();
        file.append(INPUT.as_bytes()).unwrap();
        Self { storage, counters: Arc::default() }
    }

    fn rows(&self) -> Vec<CsvLine> {
        let scene = Scene { storage: Arc::new(self.storage.clone()), ..Scene::new(1) };
        let mut source = FileSource::csv(["/in.csv"]);
        let splits = source.discover(&scene.context(0)).unwrap();
        source.open(scene.context(0), splits).unwrap();
        let mut out = Collected::default();
        while source.poll(&mut out).unwrap() != Poll::Done {}
        out.records
    }

    /// What a subtask makes of the rows: two columns are wanted.
    fn two_columns(
        &self,
        policy: BadRecordPolicy,
        subtask: usize,
        rows: &[CsvLine],
    ) -> Result<Vec<String>, ConnectorError> {
        let (good, mut bad) = self.unsynced(policy, (subtask, 2), rows)?;
        bad.sync()?;
        Ok(good)
    }

    /// The same before its checkpoint.
    fn unsynced(
        &self,
        policy: BadRecordPolicy,
        subtask: (usize, usize),
        rows: &[CsvLine],
    ) -> Result<(Vec<String>, BadRecords), ConnectorError> {
        let mut bad = BadRecords::new(policy, "two-columns", vec!["/in.csv".into()]);
        bad.open(Arc::new(self.storage.clone()), Arc::clone(&self.counters), subtask);
        let mut good = Vec::new();
        for row in rows {
            let view = row.view();
            let n = view.fields().count();
            if n == 2 {
                good.push(String::from_utf8(row.line.clone()).unwrap());
                continue;
            }
            bad.reject(&BadRecord {
                what: "parse CSV",
                file: view.file,
                offset: view.offset,
                raw: RawRecord::Bytes(view.line),
                reason: &format!("expected 2, got {n}"),
                hint: None,
            })?;
        }
        Ok((good, bad))
    }

    fn kept(&self, subtask: usize) -> String {
        let path = format!("/bad/two-columns-{subtask}.rejected");
        String::from_utf8(read_all(&self.storage, Path::new(&path)).unwrap_or_default()).unwrap()
    }

    fn entry(&self, offset: u64, line: u64, raw: &str, got: u64) -> String {
        let inode = self.storage.stat(Path::new("/in.csv")).unwrap().inode;
        let n = raw.len();
        format!("@{inode} {offset} {n} /in.csv:{line} (byte offset {offset}): expected 2, got {got}\n{raw}\n")
    }

    fn both(&self) -> String {
        self.entry(4, 2, "2", 1) + &self.entry(10, 4, "4,d,x", 3)
    }
}

fn dead_letter() -> BadRecordPolicy {
    BadRecordPolicy::DeadLetter("/bad".into())
}

#[test]
fn ms062_fail_names_file_line_and_offset_and_what_was_expected() {
    let fixture = Fixture::new();
    let error = fixture.two_columns(BadRecordPolicy::Fail, 0, &fixture.rows()).unwrap_err();
    assert_eq!(error.class, Class::Data);
    assert_eq!(error.to_string(), "parse CSV: /in.csv:2 (byte offset 4): expected 2, got 1");
    assert_eq!(fixture.counters.records_rejected.get(), 0);
}

#[test]
fn ms062_skip_leaves_two_rows_and_counts_two() {
    let fixture = Fixture::new();
    let good = fixture.two_columns(BadRecordPolicy::Skip, 0, &fixture.rows()).unwrap();
    assert_eq!(good, ["1,a", "3,c"]);
    assert_eq!(fixture.counters.records_rejected.get(), 2);
}

#[test]
fn ms062_dead_letters_keep_raw_bytes_reason_and_place() {
    let fixture = Fixture::new();
    assert!(fixture.storage.stat(Path::new("/bad")).is_err());
    let good = fixture.two_columns(dead_letter(), 0, &fixture.rows()).unwrap();
    assert_eq!(good, ["1,a", "3,c"]);
    assert_eq!(fixture.kept(0), fixture.both());
    assert_eq!(fixture.counters.records_rejected.get(), 2);
}

#[test]
fn a_replay_keeps_every_bad_record_once_also_in_another_subtask() {
    let fixture = Fixture::new();
    let rows = fixture.rows();
    fixture.two_columns(dead_letter(), 0, &rows[..2]).unwrap();
    fixture.two_columns(dead_letter(), 1, &rows).unwrap();
    fixture.two_columns(dead_letter(), 0, &rows).unwrap();
    assert_eq!(fixture.kept(0), fixture.entry(4, 2, "2", 1));
    assert_eq!(fixture.kept(1), fixture.entry(10, 4, "4,d,x", 3));
}

#[test]
fn an_entry_that_was_cut_anywhere_is_written_again() {
    let whole = Fixture::new().both();
    for cut in 0..whole.len() {
        let fixture = Fixture::new();
        fixture.storage.create_dir_all(Path::new("/bad")).unwrap();
        let mut file = fixture.storage.create(Path::new("/bad/two-columns-0.rejected")).unwrap();
        file.append(&whole.as_bytes()[..cut]).unwrap();
        fixture.two_columns(dead_letter(), 0, &fixture.rows()).unwrap();
        assert_eq!(fixture.kept(0), whole, "cut at {cut}");
    }
}

#[test]
fn dead_letters_survive_a_power_cut_once_synced() {
    for seed in 0..20 {
        let mut fixture = Fixture::new();
        fixture.two_columns(dead_letter(), 0, &fixture.rows()).unwrap();
        let whole = fixture.both();
        fixture.storage = fixture.storage.crash_image(seed);
        assert_eq!(fixture.kept(0), whole);
    }
}

/// What a killed attempt has kept is not written again, so the checkpoint of the next one makes it durable, whichever
/// subtask wrote it, and whether the one that owns the file now has a bad record of its own or none.
#[test]
fn what_a_killed_attempt_has_kept_survives_a_power_cut_behind_the_next_checkpoint() {
    for parallelism in [1, 2, 3] {
        for seed in 0..10 {
            let mut fixture = Fixture::new();
            let rows = fixture.rows();
            for subtask in 0..2 {
                fixture.unsynced(dead_letter(), (subtask, 2), &rows[2 * subtask..][..2]).unwrap();
            }
            let whole = (fixture.kept(0), fixture.kept(1));
            assert_eq!(format!("{}{}", whole.0, whole.1), fixture.both());
            // The next attempt: all rows are the last subtask's, the others have none.
            for subtask in 0..parallelism {
                let rows = if subtask + 1 == parallelism { &rows[..] } else { &[] };
                fixture.unsynced(dead_letter(), (subtask, parallelism), rows).unwrap().1.sync().unwrap();
            }
            fixture.storage = fixture.storage.crash_image(seed);
            assert_eq!((fixture.kept(0), fixture.kept(1)), whole, "{parallelism} subtasks, seed {seed}");
        }
    }
}
