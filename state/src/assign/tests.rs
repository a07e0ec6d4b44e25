//! Who gets what, and what does not fit (KG-04, KG-05, ER-01 to ER-03, ER-10 to ER-12, CP-28).

use super::*;
use crate::descriptor::{Layout, StateKind};
use crate::key_group::KeyGroup;
use crate::metadata::{GroupForm, GroupRange, Handle};
use crate::testing::{list, sample, schema, two_elements, value_state};
use millstream_io::Schema;
use millstream_io::source::Redistribution;
use proptest::prelude::*;

fn source() -> NewOperator {
    NewOperator {
        id: OperatorId::of_uid("source"),
        uid: Some("source".to_owned()),
        name: "lines".to_owned(),
        parallelism: 1,
        max_parallelism: None,
        states: Vec::new(),
        lists: vec![list("splits", Redistribution::EvenSplit)],
        commits: false,
    }
}

fn count(parallelism: u32) -> NewOperator {
    NewOperator {
        id: OperatorId::generated(b"count"),
        uid: None,
        name: "count".to_owned(),
        parallelism,
        max_parallelism: None,
        states: vec![value_state("sum", "u64", "i64")],
        lists: Vec::new(),
        commits: false,
    }
}

fn groups(subtask: &SubtaskAssignment) -> Vec<u16> {
    subtask.keyed.iter().flat_map(|(_, handle)| &handle.groups).map(|g| g.group.0).collect()
}

fn assigned(operators: &[NewOperator]) -> Result<Vec<OperatorAssignment>, Mismatch> {
    assign(Some(&sample()), operators, false)
}

fn refused(operator: NewOperator) -> Mismatch {
    assigned(&[source(), operator]).unwrap_err()
}

#[test]
fn without_a_snapshot_everything_starts_empty() {
    let all =
        assign(None, &[source(), NewOperator { max_parallelism: Some(10), ..count(3) }], false).unwrap();
    assert_eq!(all[0].lists, [ListAssignment { old: vec![] }]);
    assert_eq!((all[0].parallelism.subtasks(), all[0].parallelism.max()), (1, 128), "KG-03");
    assert_eq!((all[1].parallelism.subtasks(), all[1].parallelism.max()), (3, 10));
    assert_eq!(all[1].subtasks, vec![SubtaskAssignment::default(); 3]);
}

/// KG-05: unchanged, every subtask gets its own groups; else each group goes to its owner. The sample has groups 0 and
/// 63 in subtask 0, 64 and 127 in subtask 1.
#[test]
fn kg_05_key_groups_follow_their_owner() {
    for (parallelism, expected) in [
        (2, vec![vec![0, 63], vec![64, 127]]),
        (1, vec![vec![0, 63, 64, 127]]),
        // 128 over 3: 0..=42, 43..=85, 86..=127 (KG-01).
        (3, vec![vec![0], vec![63, 64], vec![127]]),
        (4, vec![vec![0], vec![63], vec![64], vec![127]]),
    ] {
        let all = assigned(&[source(), count(parallelism)]).unwrap();
        assert_eq!(all[1].subtasks.iter().map(groups).collect::<Vec<_>>(), expected);
    }
    // A narrowed handle has the group's bytes and no others: 63 has bytes 30..100 of the first one.
    let all = assigned(&[source(), count(4)]).unwrap();
    let (state, handle) = &all[1].subtasks[1].keyed[0];
    assert_eq!(*state, 0);
    assert_eq!((handle.groups[0].offset, handle.groups[0].len), (0, 70));
    let Handle::File { name, offset, .. } = &sample().operators[1].subtasks[0].keyed[0].data else {
        panic!()
    };
    assert_eq!(handle.data, Handle::File { name: name.clone(), offset: offset + 30, len: 70 });
}

/// Lists are handed over whole, with the old subtasks' order.
#[test]
fn lists_are_handed_over_by_old_subtask() {
    let mut snapshot = sample();
    snapshot.operators[0].subtasks = vec![
        SubtaskState::default(),
        SubtaskState { lists: vec![two_elements(0)], ..SubtaskState::default() },
    ];
    let more = NewOperator {
        lists: vec![list("new", Redistribution::Union), list("splits", Redistribution::EvenSplit)],
        ..source()
    };
    let all = assign(Some(&snapshot), &[more, count(2)], false).unwrap();
    assert_eq!(all[0].lists[0], ListAssignment { old: vec![] }, "the snapshot does not know it");
    assert_eq!(all[0].lists[1], ListAssignment { old: vec![None, Some(two_elements(0))] });
}

/// States are matched by name, whatever their order.
#[test]
fn states_are_matched_by_name() {
    let states = vec![value_state("max", "u64", "u64"), value_state("sum", "u64", "i64")];
    let all = assigned(&[source(), NewOperator { states, ..count(2) }]).unwrap();
    assert!(all[1].subtasks.iter().flat_map(|s| &s.keyed).all(|(state, _)| *state == 1));
}

#[test]
fn er_01_removed_operator() {
    let mismatch = assigned(&[source()]).unwrap_err();
    let Mismatch::OperatorsRemoved { operators } = &mismatch else { panic!("{mismatch}") };
    let id = OperatorId::generated(b"count").to_string();
    assert_eq!(operators.len(), 1);
    assert!(operators[0].contains("\"count\"") && operators[0].contains(&id), "{}", operators[0]);
    assert!(mismatch.to_string().contains("not available in the new program"));
    assert!(mismatch.hint().unwrap().contains("--allow-non-restored-state"));
    let both = assigned(&[]).unwrap_err().to_string();
    assert!(both.contains("uid \"source\"") && both.contains("\"count\""), "all of them are named: {both}");

    let allowed = assign(Some(&sample()), &[source()], true).unwrap();
    assert_eq!(allowed.len(), 1);
    // Removed with only empty state: no error.
    let mut empty = sample();
    empty.operators[1].subtasks = vec![SubtaskState::default(); 2];
    assert!(assign(Some(&empty), &[source()], false).is_ok());
    // A new operator starts empty.
    let new = NewOperator { id: OperatorId::of_uid("new"), ..count(2) };
    let all = assigned(&[source(), count(2), new]).unwrap();
    assert_eq!(all[2].subtasks, vec![SubtaskAssignment::default(); 2]);
}

/// KG-04, ER-02, ER-03: taken over, set and different, too small.
#[test]
fn kg_04_max_parallelism_is_part_of_the_state() {
    let mut snapshot = sample();
    snapshot.operators[1].max_parallelism = 200;
    let with = |operator| assign(Some(&snapshot), &[source(), operator], false);
    assert_eq!(with(count(3)).unwrap()[1].parallelism, Parallelism::new(3, Some(200)).unwrap());
    let same = NewOperator { max_parallelism: Some(200), ..count(3) };
    assert_eq!(with(same).unwrap()[1].parallelism.max(), 200);

    let er_02 = with(NewOperator { max_parallelism: Some(256), ..count(3) }).unwrap_err();
    let label = count(3).label();
    assert_eq!(er_02, Mismatch::MaxParallelism { operator: label.clone(), restored: 200, configured: 256 });
    let text = er_02.to_string();
    assert!(text.contains(&OperatorId::generated(b"count").to_string()), "{text}");
    assert!(text.contains("200") && text.contains("256") && text.contains("incompatible change"), "{text}");

    let er_03 = with(count(201)).unwrap_err();
    assert_eq!(er_03, Mismatch::AboveRestoredMax { operator: label, restored: 200, configured: 201 });
    let text = er_03.to_string();
    assert!(text.contains("count") && text.contains("200") && text.contains("201"), "{text}");
    assert!(er_03.hint().unwrap().contains("reduce parallelism"));
    // An operator without keyed state has no key groups to keep.
    assert!(assigned(&[NewOperator { parallelism: 200, ..source() }, count(2)]).is_ok());
    assert!(matches!(
        assigned(&[NewOperator { parallelism: 5, max_parallelism: Some(4), ..source() }, count(2)]),
        Err(Mismatch::Parallelism { .. })
    ));
}

fn changed(mismatch: Mismatch) -> (String, OldNew) {
    let text = mismatch.to_string();
    match mismatch {
        Mismatch::StateChanged { state, change, .. } => {
            assert!(text.contains(&format!("{state:?}")) && text.contains("count"), "{text}");
            (text, *change)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn er_10_er_11_er_12_changed_types_and_kinds_are_refused() {
    let with = |state| NewOperator { states: vec![state], ..count(2) };
    let (text, change) = changed(refused(with(value_state("sum", "u64", "string"))));
    assert_eq!(change, OldNew::Value(schema("i64"), schema("string")));
    assert!(
        text.contains("i64") && text.contains("string") && text.contains("must not be incompatible"),
        "{text}"
    );

    let (text, change) = changed(refused(with(value_state("sum", "string", "i64"))));
    assert_eq!(change, OldNew::Key(schema("u64"), schema("string")));
    assert!(text.contains("key type must be compatible"), "{text}");

    let reducing = StateDescriptor { kind: StateKind::Reducing, ..value_state("sum", "u64", "i64") };
    let (text, change) = changed(refused(with(reducing)));
    assert_eq!(change, OldNew::Kind("value".to_owned(), "reducing".to_owned()));
    assert!(text.contains("value") && text.contains("reducing"), "{text}");

    let sum = || value_state("sum", "u64", "i64");
    let ordered = StateDescriptor { layout: Layout::Ordered, ..sum() };
    let (text, change) = changed(refused(with(ordered)));
    assert_eq!(change, OldNew::Layout(Layout::Hashed, Layout::Ordered));
    assert!(text.contains("of a process function") && text.contains("of a keyed function"), "{text}");

    let namespaced = StateDescriptor { namespace: Some(schema("u32")), ..sum() };
    let (text, change) = changed(refused(with(namespaced)));
    assert_eq!(change, OldNew::Namespace(None, Some(schema("u32"))));
    assert!(text.contains("none in the snapshot, u32 in the program"), "{text}");

    let as_list = NewOperator { states: vec![], lists: vec![list("sum", Redistribution::Union)], ..count(2) };
    assert_eq!(changed(refused(as_list)).1, OldNew::Kind("value".to_owned(), "list".to_owned()));

    let other_element = ListDescriptor { element: schema("u8"), ..list("splits", Redistribution::EvenSplit) };
    let elements = NewOperator { lists: vec![other_element], ..source() };
    match assigned(&[elements, count(2)]) {
        Err(Mismatch::StateChanged { change, .. }) => {
            assert_eq!(*change, OldNew::Value(schema("string"), schema("u8")));
        }
        other => panic!("{other:?}"),
    }
    // `-n` leaves state behind, it does not make other types of it.
    let operator = with(value_state("sum", "u64", "string"));
    assert!(matches!(
        assign(Some(&sample()), &[source(), operator], true),
        Err(Mismatch::StateChanged { .. })
    ));
}

/// TT-02: what has no time of its last access cannot be told to be old, and the other way round.
#[test]
fn er_23_a_time_to_live_switched_on_or_off_is_refused() {
    let aging = || StateDescriptor { ttl: true, ..value_state("sum", "u64", "i64") };
    let on = NewOperator { states: vec![aging()], ..count(2) };
    let (text, change) = changed(refused(on.clone()));
    assert_eq!(change, OldNew::Ttl { old: false, new: true });
    assert!(text.contains("\"sum\"") && text.contains("state migration"), "{text}");

    let mut old = sample();
    old.operators[1].states = vec![aging()];
    assert!(assign(Some(&old), &[source(), on], false).is_ok());
    let (_, change) = changed(assign(Some(&old), &[source(), count(2)], false).unwrap_err());
    assert_eq!(change, OldNew::Ttl { old: true, new: false });
}

/// ST-03: a keyed state that the operator has no more goes on behind its own, by key group, unless it may be left behind.
#[test]
fn st_03_a_state_that_is_not_used_is_carried_on() {
    let states = vec![value_state("other", "u64", "i64"), value_state("third", "u64", "u8")];
    for parallelism in [2, 1, 4] {
        let without = NewOperator { states: states.clone(), ..count(parallelism) };
        let all = assigned(&[source(), without]).unwrap();
        assert_eq!(all[1].carried, [value_state("sum", "u64", "i64")]);
        assert!(all[1].subtasks.iter().flat_map(|s| &s.keyed).all(|(state, _)| *state == 2));
        let own = assigned(&[source(), count(parallelism)]).unwrap();
        assert_eq!(own[1].carried, []);
        let groups = |all: &[OperatorAssignment]| all[1].subtasks.iter().map(groups).collect::<Vec<_>>();
        assert_eq!(groups(&all), groups(&own), "each where it would be if it were used");
    }
    let without = NewOperator { states, ..count(2) };
    let all = assign(Some(&sample()), &[source(), without.clone()], true).unwrap();
    assert!(all[1].carried.is_empty() && all[1].subtasks.iter().all(|s| s.keyed.is_empty()));
    let mut empty = sample();
    empty.operators[1].subtasks = vec![SubtaskState::default(); 2];
    let all = assign(Some(&empty), &[source(), without], false).unwrap();
    assert!(all[1].carried.is_empty(), "nothing is nothing to carry");
}

/// What a list holds may be owed to somebody: it is not lost without a word.
#[test]
fn a_removed_list_is_refused_unless_allowed() {
    let without = NewOperator { lists: Vec::new(), ..source() };
    let mismatch = assigned(&[without.clone(), count(2)]).unwrap_err();
    assert!(matches!(&mismatch, Mismatch::StateRemoved { state, .. } if state == "splits"), "{mismatch}");
    assert!(mismatch.hint().unwrap().contains("--allow-non-restored-state"));
    assert!(assign(Some(&sample()), &[without, count(2)], true).is_ok());
}

/// MS-021: what begins empty and what is left behind is listed; what has no state is nobody's loss.
#[test]
fn ms_021_operators_and_states_without_counterpart_are_listed() {
    let same = |parallelism| unmatched(&sample(), &[source(), count(parallelism)]);
    assert_eq!((same(2), same(5)), (Unmatched::default(), Unmatched::default()));

    // A second stateful operator, a state more, and an operator that needs none.
    let named =
        |uid: &str| NewOperator { id: OperatorId::of_uid(uid), uid: Some(uid.to_owned()), ..count(2) };
    let stateless = NewOperator { states: Vec::new(), ..named("map") };
    let more = NewOperator {
        states: vec![value_state("sum", "u64", "i64"), value_state("last", "u64", "i64")],
        ..count(2)
    };
    let found = unmatched(&sample(), &[source(), more.clone(), named("d"), stateless]);
    assert_eq!(found.empty, [format!("state \"last\" of {}", more.label()), named("d").label()]);
    assert_eq!(found.left_behind, Vec::<String>::new());

    // The operator gone, or its state; empty state is none.
    let gone = unmatched(&sample(), &[source()]);
    assert_eq!((gone.empty, gone.left_behind), (vec![], vec![count(2).label()]));
    let other = NewOperator { states: vec![value_state("other", "u64", "i64")], ..count(2) };
    let changed = unmatched(&sample(), &[source(), other]);
    assert_eq!(changed.empty, [format!("state \"other\" of {}", count(2).label())]);
    assert_eq!(changed.unused, [format!("state \"sum\" of {}", count(2).label())]);
    assert_eq!(changed.left_behind, Vec::<String>::new());
    let mut empty = sample();
    empty.operators[1].subtasks = vec![SubtaskState::default(); 2];
    assert_eq!(unmatched(&empty, &[source()]), Unmatched::default());
}

/// A type that cannot be stored is found out before the first checkpoint.
#[test]
fn an_unstorable_type_is_refused_at_the_start() {
    let deep = (0..1000).fold(schema("u64"), |inner, _| Schema::Option(Box::new(inner)));
    let states = vec![StateDescriptor { value: deep, ..value_state("deep", "u64", "u64") }];
    let mismatch = assign(None, &[NewOperator { states, ..count(1) }], false).unwrap_err();
    assert!(matches!(&mismatch, Mismatch::Unstorable { state, .. } if state == "deep"), "{mismatch}");
}

/// CP-28: what had finished does not run again; at another parallelism only if all of it had.
#[test]
fn cp_28_finished_subtasks_stay_finished() {
    let finished = |flags: [bool; 2], parallelism| {
        let mut snapshot = sample();
        for (subtask, flag) in snapshot.operators[1].subtasks.iter_mut().zip(flags) {
            subtask.finished = flag;
        }
        let all = assign(Some(&snapshot), &[source(), count(parallelism)], false).unwrap();
        all[1].subtasks.iter().map(|s| s.finished).collect::<Vec<_>>()
    };
    assert_eq!(finished([false, true], 2), [false, true]);
    assert_eq!(finished([false, true], 3), [false, false, false]);
    assert_eq!(finished([true, true], 3), [true, true, true]);
    assert_eq!(finished([true, true], 1), [true]);
}

/// CP-28, CP-31: a subtask that had finished has emitted what it held; at another parallelism nobody emits it again.
#[test]
fn cp_28_keyed_state_of_a_finished_subtask_is_not_handed_out() {
    let groups = |finished: bool| {
        let mut snapshot = sample();
        snapshot.operators[1].subtasks[0].finished = finished;
        let all = assign(Some(&snapshot), &[source(), count(3)], false).unwrap();
        all[1].subtasks.iter().flat_map(|s| &s.keyed).map(|(_, handle)| handle.groups.len()).sum::<usize>()
    };
    let of = |subtask: usize| -> usize {
        sample().operators[1].subtasks[subtask].keyed.iter().map(|handle| handle.groups.len()).sum()
    };
    assert!(of(0) > 0);
    assert_eq!(groups(false), of(0) + of(1));
    assert_eq!(groups(true), of(1));
}

/// CP-29: the list of a finished subtask is dropped, for its end has been processed; what a sink has to commit is not.
#[test]
fn cp_29_lists_of_a_finished_subtask_are_dropped_unless_they_are_to_be_committed() {
    let handed_out = |finished, commits| {
        let mut snapshot = sample();
        snapshot.operators[0].subtasks[0].finished = finished;
        let new = NewOperator { commits, ..source() };
        let all = assign(Some(&snapshot), &[new, count(2)], false).unwrap();
        all[0].lists[0].old.iter().flatten().count()
    };
    assert_eq!(handed_out(false, false), 1);
    assert_eq!(handed_out(true, false), 0);
    assert_eq!(handed_out(true, true), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// KG-05: at whatever parallelism before and after, every group goes to its owner, once, with its bytes.
    #[test]
    fn every_group_is_handed_out_once(
        max in 1u32..200,
        old in 1u32..20,
        new in 1u32..20,
        held in prop::collection::btree_set(0u16..200, 0..60),
    ) {
        let (old, new) = (old.min(max), new.min(max));
        let shape = Parallelism::new(i64::from(old), Some(i64::from(max))).unwrap();
        let mut snapshot = sample();
        let operator = &mut snapshot.operators[1];
        operator.max_parallelism = max;
        operator.subtasks = (0..shape.subtasks())
            .map(|n| {
                let mut offset = 0;
                let own = held.iter().copied().filter(|&g| shape.range_of(n).contains(KeyGroup(g)));
                let groups: Vec<_> = own
                    .map(|g| {
                        // The length says which group it is, so that a mix-up shows.
                        let range = GroupRange { group: KeyGroup(g), entries: 1, offset, len: u64::from(g) + 1, crc: 0 };
                        offset += range.len;
                        range
                    })
                    .collect();
                let data = Handle::Inline(vec![0; offset as usize].into());
                let keyed = (!groups.is_empty()).then_some(KeyedHandle { state: 0, groups, data, form: GroupForm::Backend });
                SubtaskState { keyed: keyed.into_iter().collect(), ..SubtaskState::default() }
            })
            .collect();
        let all = assign(Some(&snapshot), &[source(), count(new)], false).unwrap();
        let owner = |group: u16| (u32::from(group) * new / max) as usize;
        let mut handed = Vec::new();
        for (n, subtask) in all[1].subtasks.iter().enumerate() {
            for range in subtask.keyed.iter().flat_map(|(_, handle)| &handle.groups) {
                prop_assert_eq!(owner(range.group.0), n);
                prop_assert_eq!(range.len, u64::from(range.group.0) + 1);
                handed.push(range.group.0);
            }
        }
        handed.sort();
        let expected: Vec<_> = held.into_iter().filter(|&g| u32::from(g) < max).collect();
        prop_assert_eq!(handed, expected);
    }
}
