//! Restoring at another parallelism.

use super::*;

fn rescale<K: Key, V: Record + Default>(old: Vec<KeyedSnapshot>, p: i64) -> Vec<HeapState<K, V>> {
    (0..p as usize)
        .map(|subtask| {
            let mut state = part(p, subtask);
            // Everything is offered to everyone: each subtask keeps its own groups only.
            for chunk in old.iter().flat_map(|snapshot| &snapshot.groups) {
                state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
            }
            state
        })
        .collect()
}

fn kg_05<K: Sample + Key>() {
    let keys = 5000;
    let mut states = vec![part::<K, u64>(2, 0), part::<K, u64>(2, 1)];
    let mut expected = Model::new();
    for n in 0..keys {
        let key = K::sample(n);
        let owner = Parallelism::new(2, Some(100)).unwrap().router().subtask(K::hash(key.view()));
        put(&mut states[owner], &key, n);
        expected.insert(K::encode(key.view()), u64::encode(n));
    }
    for p in [3, 1, 4] {
        states = rescale(states.iter_mut().map(snapshot).collect(), p);
        let mut all = Model::new();
        for (subtask, state) in states.iter_mut().enumerate() {
            let part = snapshot(state);
            let range = Parallelism::new(p, Some(100)).unwrap().range_of(subtask);
            assert!(part.groups.iter().all(|chunk| range.contains(chunk.group)));
            for (key, value) in entries::<K, u64>(&part) {
                assert_eq!(all.insert(key, value), None, "each key on one subtask");
            }
        }
        assert_eq!(all, expected, "parallelism {p}");
    }
}

#[test]
fn kg_05_words_from_two_to_three_to_one_to_four() {
    kg_05::<u64>();
}

#[test]
fn kg_05_texts_from_two_to_three_to_one_to_four() {
    kg_05::<String>();
}

#[test]
fn kg_05_a_group_of_another_subtask_is_not_even_read() {
    let mut first = part::<u64, u64>(2, 0);
    first.restore(KeyGroup(99), 1, b"no entry at all").unwrap();
    assert_eq!(first.len(), 0);
}
