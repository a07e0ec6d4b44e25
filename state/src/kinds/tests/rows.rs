//! The rows of the rules, one by one.

use super::*;
use crate::StateKind;

fn on_each_backend(f: impl Fn(Subtasks<String>, Handles)) {
    let (declared, handles) = declare(None);
    for (_, make) in BACKENDS {
        f(Subtasks::new(&declared, make, 1), handles);
    }
}

#[test]
fn st_01_two_keys_and_two_namespaces_never_see_each_other() {
    on_each_backend(|mut states, handles| {
        let places = [("a", 1), ("a", 2), ("b", 1), ("ab", 1)];
        for (key, namespace) in places {
            let text = format!("{key}{namespace}");
            let mut at = states.at(key);
            at.value(handles.value).within(namespace).set(&text);
            at.list(handles.list).within(namespace).add(&text);
            at.map(handles.map).within(namespace).put(&text, 1);
        }
        for (key, namespace) in places {
            let text = format!("{key}{namespace}");
            let mut at = states.at(key);
            assert_eq!(at.value(handles.value).within(namespace).get(), Some(text.as_str()));
            assert_eq!(at.list(handles.list).within(namespace).get().collect::<Vec<_>>(), [&text]);
            assert_eq!(at.map(handles.map).within(namespace).iter().collect::<Vec<_>>(), [(&*text, 1)]);
            assert_eq!(at.value(handles.value).get(), None, "the void namespace is one of its own");
        }
    });
}

/// What is unset, what is empty, and what `clear` leaves alone.
#[test]
fn st_02_unset_reads_as_none_and_clear_takes_one_place_alone() {
    on_each_backend(|mut states, handles| {
        for namespace in [1, 2] {
            let mut at = states.at("key");
            assert_eq!(at.value(handles.value).within(namespace).get(), None);
            assert_eq!(at.list(handles.list).within(namespace).get().count(), 0);
            assert!(at.map(handles.map).within(namespace).is_empty());
            assert_eq!(at.reducing(handles.reducing).within(namespace).get(), None);
            assert_eq!(at.aggregating(handles.aggregating).within(namespace).get(), None);

            at.value(handles.value).within(namespace).set("");
            assert_eq!(at.value(handles.value).within(namespace).get(), Some(""), "empty is not unset");
            at.list(handles.list).within(namespace).add_all(["x", "y"]);
            at.map(handles.map).within(namespace).put("x", 1);
            at.reducing(handles.reducing).within(namespace).add(5);
            at.reducing(handles.reducing).within(namespace).add(6);
            assert_eq!(at.reducing(handles.reducing).within(namespace).get(), Some(11));
            at.aggregating(handles.aggregating).within(namespace).add("four");
            at.aggregating(handles.aggregating).within(namespace).add("three");
            assert_eq!(at.aggregating(handles.aggregating).within(namespace).get().unwrap(), "9 in 2");
        }
        let mut at = states.at("key");
        at.value(handles.value).within(1).clear();
        at.list(handles.list).within(1).replace([]);
        at.map(handles.map).within(1).clear();
        at.reducing(handles.reducing).within(1).clear();
        at.aggregating(handles.aggregating).within(1).clear();
        for (namespace, entries) in [(1, 0), (2, 1)] {
            let mut at = states.at("key");
            assert_eq!(at.value(handles.value).within(namespace).get().iter().count(), entries);
            assert_eq!(at.list(handles.list).within(namespace).get().count(), entries * 2);
            assert_eq!(at.map(handles.map).within(namespace).iter().count(), entries);
            assert_eq!(at.reducing(handles.reducing).within(namespace).get().iter().count(), entries);
            assert_eq!(at.aggregating(handles.aggregating).within(namespace).get().iter().count(), entries);
        }
        assert_eq!(
            [0, 1, 2, 3, 4].map(|state| states.entries(state)),
            [1, 2, 1, 1, 1],
            "nothing is left behind"
        );
    });
}

#[test]
fn st_03_what_is_declared_is_described_by_name_kind_and_types() {
    let mut declared = Declarations::<u64>::new();
    declared.value::<String>("a");
    declared.with_namespaces::<(u32, String)>().list::<bool>("b");
    declared.with_ttl(Ttl::new(std::time::Duration::from_secs(1))).map::<u32, String>("c");
    let disabled = Ttl { update: TtlUpdate::Disabled, ..Ttl::new(std::time::Duration::from_secs(1)) };
    declared.with_ttl(disabled).with_namespaces::<()>().aggregating::<Lengths>("d");
    let described: Vec<_> = declared
        .all()
        .iter()
        .map(|one| {
            let d = one.descriptor();
            let namespace = d.namespace.as_ref().map(ToString::to_string);
            (d.name.as_str(), d.kind, d.key.to_string(), d.value.to_string(), namespace, d.ttl)
        })
        .collect();
    let u64 = || "u64".to_owned();
    let expected = [
        ("a", StateKind::Value, u64(), "string".to_owned(), None, false),
        ("b", StateKind::List, u64(), "bool".to_owned(), Some("(u32, string)".to_owned()), false),
        ("c", StateKind::Map, u64(), "(u32, string)".to_owned(), None, true),
        ("d", StateKind::Aggregating, u64(), "(u32, u64)".to_owned(), None, false),
    ];
    assert_eq!(described, expected);
}
