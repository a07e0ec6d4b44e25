use super::*;
use crate::storage::read_all;
use std::collections::BTreeSet;

const SEEDS: u64 = 400;

fn at(path: &str) -> &Path {
    Path::new(path)
}

/// Every content that a power cut can leave at `path`; `None` where there is no file.
fn outcomes(storage: &MemoryStorage, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    (0..SEEDS).map(|seed| read_all(&storage.crash_image(seed), at(path)).ok()).collect()
}

fn some(contents: &[&[u8]]) -> BTreeSet<Option<Vec<u8>>> {
    contents.iter().map(|c| Some(c.to_vec())).collect()
}

#[test]
fn synced_content_under_a_synced_name_survives() {
    let storage = MemoryStorage::new();
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"abc").unwrap();
    file.sync().unwrap();
    storage.sync_dir(at("/")).unwrap();
    assert_eq!(outcomes(&storage, "/a"), some(&[b"abc"]));
}

#[test]
fn a_name_without_directory_sync_may_be_lost() {
    let storage = MemoryStorage::new();
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"abc").unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&storage, "/a"), BTreeSet::from([None, Some(b"abc".to_vec())]));
}

#[test]
fn unsynced_bytes_are_lost_torn_zeroed_or_kept() {
    let storage = MemoryStorage::new();
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"ab").unwrap();
    file.sync().unwrap();
    storage.sync_dir(at("/")).unwrap();
    file.append(b"cd").unwrap();
    assert_eq!(outcomes(&storage, "/a"), some(&[b"ab", b"abc", b"abcd", b"abc\0", b"ab\0\0"]));
}

#[test]
fn a_syncer_promises_no_more_than_was_written_before_it() {
    let storage = MemoryStorage::new();
    let mut file = storage.create(at("/a")).unwrap();
    storage.sync_dir(at("/")).unwrap();
    file.append(b"a").unwrap();
    let syncer = file.syncer().unwrap();
    file.append(b"b").unwrap();
    assert!(outcomes(&storage, "/a").contains(&Some(vec![])), "not synced before it runs");
    syncer().unwrap();
    assert_eq!(outcomes(&storage, "/a"), some(&[b"a", b"ab", b"a\0"]));
}

#[test]
fn shortening_is_durable_only_after_a_sync() {
    let storage = MemoryStorage::new();
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"abcd").unwrap();
    file.sync().unwrap();
    storage.sync_dir(at("/")).unwrap();
    let mut file = storage.append(at("/a"), 2).unwrap();
    assert_eq!(outcomes(&storage, "/a"), some(&[b"abcd", b"ab"]));
    file.append(b"X").unwrap();
    drop(storage.append(at("/a"), 1).unwrap());
    let mut file = storage.append(at("/a"), 1).unwrap();
    assert_eq!(outcomes(&storage, "/a"), some(&[b"abcd", b"a"]));
    file.sync().unwrap();
    assert_eq!(outcomes(&storage, "/a"), some(&[b"a"]));
}

#[test]
fn a_rename_happens_whole_or_not_at_all() {
    let storage = MemoryStorage::new();
    storage.publish(at("/a"), b"x").unwrap();
    storage.rename(at("/a"), at("/b")).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let image = storage.crash_image(seed);
        seen.insert((image.stat(at("/a")).is_ok(), image.stat(at("/b")).is_ok()));
    }
    assert_eq!(seen, BTreeSet::from([(true, false), (false, true)]));
    storage.sync_dir(at("/")).unwrap();
    assert_eq!(outcomes(&storage, "/b"), some(&[b"x"]));
    assert_eq!(outcomes(&storage, "/a"), BTreeSet::from([None]));
}

#[test]
fn a_file_never_has_two_names_after_a_crash() {
    let storage = MemoryStorage::new();
    storage.publish(at("/a"), b"x").unwrap();
    storage.rename(at("/a"), at("/b")).unwrap();
    storage.rename(at("/b"), at("/c")).unwrap();
    for seed in 0..SEEDS {
        assert_eq!(storage.crash_image(seed).list(at("/")).unwrap().len(), 1, "seed {seed}");
    }
}

#[test]
fn a_removal_may_be_undone_until_synced() {
    let storage = MemoryStorage::new();
    storage.publish(at("/a"), b"x").unwrap();
    storage.remove(at("/a")).unwrap();
    assert_eq!(outcomes(&storage, "/a"), BTreeSet::from([None, Some(b"x".to_vec())]));
    storage.sync_dir(at("/")).unwrap();
    assert_eq!(outcomes(&storage, "/a"), BTreeSet::from([None]));
}

#[test]
fn changes_are_lost_independently() {
    let storage = MemoryStorage::new();
    drop(storage.create(at("/a")).unwrap());
    drop(storage.create(at("/b")).unwrap());
    let seen: BTreeSet<_> = (0..SEEDS)
        .map(|seed| storage.crash_image(seed))
        .map(|image| (image.stat(at("/a")).is_ok(), image.stat(at("/b")).is_ok()))
        .collect();
    assert_eq!(seen.len(), 4);
}

#[test]
fn published_files_and_directories_survive() {
    let storage = MemoryStorage::new();
    storage.create_dir_all(at("/x/y")).unwrap();
    storage.publish(at("/x/y/m"), b"1").unwrap();
    drop(storage.create(at("/x/y/other")).unwrap());
    storage.publish(at("/x/y/m"), b"2").unwrap();
    assert_eq!(outcomes(&storage, "/x/y/m"), some(&[b"2"]));
    assert!(outcomes(&storage, "/x/y/other").contains(&None), "publishing syncs its own name only");
}

#[test]
fn a_removed_directory_may_come_back_with_its_files() {
    let storage = MemoryStorage::new();
    storage.create_dir_all(at("/x")).unwrap();
    storage.publish(at("/x/m"), b"1").unwrap();
    storage.remove(at("/x/m")).unwrap();
    storage.remove_dir(at("/x")).unwrap();
    assert_eq!(outcomes(&storage, "/x/m"), BTreeSet::from([None, Some(b"1".to_vec())]));
    storage.sync_dir(at("/")).unwrap();
    assert!((0..SEEDS).all(|seed| storage.crash_image(seed).stat(at("/x")).is_err()));
}

#[test]
fn a_kill_loses_nothing_and_makes_nothing_durable() {
    let storage = MemoryStorage::new();
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"abc").unwrap();
    let image = storage.kill_image();
    file.append(b"from beyond").unwrap();
    assert_eq!(read_all(&image, at("/a")).unwrap(), b"abc");
    assert!(outcomes(&image, "/a").contains(&None));
    image.append(at("/a"), 3).unwrap().append(b"d").unwrap();
    assert_eq!(read_all(&storage, at("/a")).unwrap(), b"abcfrom beyond");
}

#[test]
fn locks_do_not_survive_their_process() {
    let storage = MemoryStorage::new();
    let held = storage.try_lock(at("/l"), "1").unwrap();
    assert!(storage.kill_image().try_lock(at("/l"), "2").unwrap().is_some());
    assert!(storage.crash_image(7).try_lock(at("/l"), "2").unwrap().is_some());
    drop(held);
}

#[test]
fn equal_seeds_leave_equal_images() {
    let storage = MemoryStorage::new();
    for n in 0..40 {
        storage.create(&at("/").join(format!("f{n}"))).unwrap().append(&[n; 100]).unwrap();
    }
    let content = |image: MemoryStorage| -> Vec<_> {
        let entries = image.list(at("/")).unwrap();
        entries.into_iter().map(|e| read_all(&image, &at("/").join(e.name)).unwrap()).collect()
    };
    assert_eq!(content(storage.crash_image(3)), content(storage.crash_image(3)));
    assert_ne!(content(storage.crash_image(3)), content(storage.crash_image(4)));
}

#[test]
fn what_is_never_synced_does_not_pile_up() {
    let storage = MemoryStorage::new();
    for n in 0..20_000 {
        let path = at("/").join(format!("f{n}"));
        drop(storage.create(&path).unwrap());
        storage.remove(&path).unwrap();
    }
    storage.tree.with(|names| {
        assert!(names.pending.len() < 5000, "{}", names.pending.len());
        assert!(names.durable.len() < 2, "{}", names.durable.len());
    });
}
