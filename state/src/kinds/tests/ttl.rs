//! Time to live, with a clock that is set by hand (TT-01 to TT-03).

use super::*;

const MS: u64 = 1000;

fn ttl(update: TtlUpdate, visibility: TtlVisibility) -> Ttl {
    Ttl { after: Duration::from_millis(MS), update, visibility }
}

/// What a key has, read once: value, list, map, reduced, aggregated.
fn read(states: &mut Subtasks<String>, handles: Handles, key: &str) -> [bool; 5] {
    let mut at = states.at(key);
    [
        at.value(handles.value).get().is_some(),
        at.list(handles.list).get().count() == 1,
        at.map(handles.map).get("k").is_some(),
        at.reducing(handles.reducing).get().is_some(),
        at.aggregating(handles.aggregating).get().is_some(),
    ]
}

fn write(states: &mut Subtasks<String>, handles: Handles, key: &str) {
    let mut at = states.at(key);
    at.value(handles.value).set("v");
    at.list(handles.list).replace(["v"]);
    at.map(handles.map).put("k", 1);
    at.reducing(handles.reducing).add(1);
    at.aggregating(handles.aggregating).add("v");
}

/// Every update type with every visibility, of every kind: written at 0, written or read at 600, read at 1200 and at 2200.
#[test]
fn tt_01_what_renews_and_what_is_visible() {
    use TtlUpdate::*;
    use TtlVisibility::*;
    for (_, make) in BACKENDS {
        for visibility in [NeverReturnExpired, ReturnExpiredIfNotCleanedUp] {
            // (update type, key that is written / read in between: visible at 1200?)
            let visible = visibility == ReturnExpiredIfNotCleanedUp;
            for (update, untouched, read_between, written_between) in [
                (Disabled, true, true, true),
                (OnCreateAndWrite, visible, visible, true),
                (OnReadAndWrite, visible, true, true),
            ] {
                let (declared, handles) = declare(Some(ttl(update, visibility)));
                let mut states = Subtasks::new(&declared, make, 1);
                states.set_time(5_000_000);
                ["left", "read", "written"].iter().for_each(|key| write(&mut states, handles, key));
                states.set_time(5_000_999);
                assert_eq!(read(&mut states, handles, "left"), [true; 5], "until {MS} ms have passed");
                let (declared, handles) = declare(Some(ttl(update, visibility)));
                let mut states = Subtasks::new(&declared, make, 1);
                states.set_time(5_000_000);
                ["left", "read", "written"].iter().for_each(|key| write(&mut states, handles, key));
                states.set_time(5_000_600);
                assert_eq!(read(&mut states, handles, "read"), [true; 5]);
                write(&mut states, handles, "written");
                states.set_time(5_001_200);
                let found = ["left", "read", "written"].map(|key| read(&mut states, handles, key));
                let expected = [untouched, read_between, written_between].map(|there| [there; 5]);
                assert_eq!(found, expected, "{update:?} {visibility:?}");
                states.set_time(9_000_000);
                let there = update == Disabled || visible;
                assert_eq!(read(&mut states, handles, "written"), [there; 5], "{update:?} {visibility:?}");
            }
        }
    }
}

/// Elements and entries of a map live each for themselves.
#[test]
fn tt_01_elements_and_entries_expire_one_by_one() {
    for (_, make) in BACKENDS {
        let (declared, handles) = declare(Some(Ttl::new(Duration::from_millis(MS))));
        let mut states = Subtasks::new(&declared, make, 1);
        for (now, text) in [(0, "a"), (400, "b"), (800, "c")] {
            states.set_time(now);
            states.at("key").list(handles.list).add(text);
            states.at("key").map(handles.map).put(text, now);
        }
        states.set_time(1400);
        assert_eq!(states.at("key").list(handles.list).get().collect::<Vec<_>>(), ["c"]);
        assert_eq!(states.at("key").map(handles.map).iter().collect::<Vec<_>>(), [("c", 800)]);
        assert_eq!((states.entries(1), states.entries(2)), (1, 1), "what was read over is removed");
        states.at("key").list(handles.list).add("d");
        assert_eq!(states.at("key").list(handles.list).get().collect::<Vec<_>>(), ["c", "d"]);
        states.set_time(5000);
        assert!(states.at("key").list(handles.list).is_empty());
        assert!(states.at("key").map(handles.map).is_empty());
        assert!(!states.at("key").map(handles.map).contains("c"));
    }
}

/// What has expired is not folded into what comes.
#[test]
fn tt_01_a_fold_begins_anew_when_it_has_expired() {
    for (_, make) in BACKENDS {
        let (declared, handles) = declare(Some(Ttl::new(Duration::from_millis(MS))));
        let mut states = Subtasks::new(&declared, make, 1);
        write(&mut states, handles, "key");
        states.set_time(MS);
        write(&mut states, handles, "key");
        assert_eq!(states.at("key").reducing(handles.reducing).get(), Some(1));
        assert_eq!(states.at("key").aggregating(handles.aggregating).get().unwrap(), "1 in 1");
        states.at("key").value(handles.value).update(|text| text.push('w'));
        assert_eq!(states.at("key").value(handles.value).get(), Some("vw"));
        states.set_time(3 * MS);
        states.at("key").value(handles.value).update(|text| text.push('w'));
        assert_eq!(states.at("key").value(handles.value).get(), Some("w"));
    }
}

/// The length of a list whose older elements expire is that of those that are left.
#[test]
fn tt_01_a_list_that_goes_on_for_ever_stays_within_its_limit() {
    let mut declared = Declarations::<u64>::new();
    let list = declared.with_ttl(Ttl::new(Duration::from_millis(MS))).list::<Vec<u8>>("recent");
    let mut states = Subtasks::new(&declared, BACKENDS[0].1, 1);
    let item = vec![0; 4 << 20];
    for now in 0..40 {
        states.set_time(now * 100);
        // Eleven of 4 MiB are within the limit of 64; forty are not.
        states.at(7).list(list).add(&item);
        assert!(states.at(7).list(list).get().count() <= 10);
    }
    assert!(states.all[0].take_fault().is_none());
}

/// The duration is not in the snapshot: a new one counts from the old times, and so does the time without the job.
#[test]
fn tt_02_another_duration_applies_to_the_times_that_were_kept() {
    for (_, make) in BACKENDS {
        for (after, survives) in [(500, [false, true]), (MS, [false, true]), (3 * MS, [true, true])] {
            let (declared, handles) = declare(Some(Ttl::new(Duration::from_millis(MS))));
            let mut states = Subtasks::new(&declared, make, 1);
            write(&mut states, handles, "old");
            states.set_time(900);
            write(&mut states, handles, "new");
            states.freeze();
            states.take();
            let (other, handles) = declare(Some(Ttl::new(Duration::from_millis(after))));
            states.declare_again(&other);
            states.set_time(1300);
            states.restore(3);
            assert_eq!(read(&mut states, handles, "old"), [survives[0]; 5], "{after}");
            assert_eq!(read(&mut states, handles, "new"), [survives[1]; 5], "{after}");
        }
    }
}

/// Without a look at the keys, by and by.
#[test]
fn tt_03_entries_go_without_being_read() {
    for (name, make) in BACKENDS {
        let (declared, handles) = declare(Some(Ttl::new(Duration::from_millis(MS))));
        let mut states = Subtasks::new(&declared, make, 1);
        let keys: Vec<String> = (0..500).map(|n| format!("key {n}")).collect();
        keys.iter().for_each(|key| write(&mut states, handles, key));
        states.set_time(600);
        write(&mut states, handles, "young");
        states.all[0].clean(10_000);
        assert_eq!([0, 1, 2, 3, 4].map(|state| states.entries(state)), [501; 5], "nothing is too old");
        states.set_time(MS);
        let mut least = 501;
        for _ in 0..80 {
            states.all[0].clean(10);
            let left = states.entries(0);
            assert!(left + 10 >= least, "no more than was asked for");
            least = left;
        }
        assert_eq!([0, 1, 2, 3, 4].map(|state| states.entries(state)), [1; 5], "{name}");
        assert_eq!(read(&mut states, handles, "young"), [true; 5]);
        states.set_time(5 * MS);
        states.all[0].clean(1000);
        assert_eq!([0, 1, 2, 3, 4].map(|state| states.entries(state)), [0; 5], "{name}");
    }
}

/// Also while the state is frozen: the snapshot has what there was, and what is restored lacks it.
#[test]
fn tt_03_what_has_expired_is_not_restored() {
    for (_, make) in BACKENDS {
        let visible = ttl(TtlUpdate::OnCreateAndWrite, TtlVisibility::ReturnExpiredIfNotCleanedUp);
        let (declared, handles) = declare(Some(visible));
        let mut states = Subtasks::new(&declared, make, 1);
        write(&mut states, handles, "old");
        states.set_time(800);
        write(&mut states, handles, "new");
        states.freeze();
        states.set_time(1200);
        assert_eq!(read(&mut states, handles, "old"), [true; 5]);
        states.all[0].clean(1000);
        assert_eq!(states.entries(0), 1);
        states.take();
        states.restore(2);
        assert_eq!(read(&mut states, handles, "old"), [false; 5]);
        assert_eq!(read(&mut states, handles, "new"), [true; 5]);
        assert_eq!([0, 1, 2, 3, 4].map(|state| states.entries(state)), [1; 5]);
    }
}

/// A snapshot that has all of a state lacks what had expired at its barrier, also what is written again while it is encoded; one that
/// others build on has it.
#[test]
fn tt_03_a_whole_snapshot_leaves_out_what_has_expired() {
    for (name, make) in BACKENDS {
        let (declared, handles) = declare(Some(Ttl::new(Duration::from_millis(MS))));
        let mut states = Subtasks::new(&declared, make, 1);
        ["old", "older"].iter().for_each(|key| write(&mut states, handles, key));
        states.set_time(500);
        write(&mut states, handles, "new");
        states.set_time(1200);
        states.freeze();
        write(&mut states, handles, "old");
        states.set_time(1700);
        states.take();
        let kept = if name == "pages" { 3 } else { 1 };
        assert_eq!([0, 1, 2, 3, 4].map(|state| states.taken(state)), [kept; 5], "{name}");
        // For a longer time to live what was kept would be young.
        let (longer, handles) = declare(Some(Ttl::new(Duration::from_millis(9 * MS))));
        states.declare_again(&longer);
        states.restore(1);
        assert_eq!(read(&mut states, handles, "new"), [true; 5], "{name}");
        assert_eq!(read(&mut states, handles, "older"), [name == "pages"; 5], "{name}");
        // The next one is taken as of another time.
        states.freeze();
        states.take();
        assert_eq!(states.taken(0), kept, "{name}");
    }
}
