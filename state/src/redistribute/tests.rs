use super::*;
use proptest::prelude::*;

fn lists() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(any::<u32>(), 0..12), 0..9)
}

proptest! {
    #[test]
    fn st_05_even_split_keeps_the_order_and_differs_by_one(old in lists(), p in 1..9usize, rotation in 0..20usize) {
        prop_assume!(old.len() != p);
        let all: Vec<u32> = old.concat();
        let new = even_split(old, p, rotation);
        prop_assert_eq!(new.len(), p);
        let sizes: Vec<usize> = new.iter().map(Vec::len).collect();
        prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{:?}", sizes);
        // From the rotated start on, the parts are the concatenation, and the larger ones come first.
        let in_order: Vec<Vec<u32>> = (0..p).map(|i| new[(rotation + i) % p].clone()).collect();
        prop_assert_eq!(in_order.concat(), all);
        prop_assert!(in_order.windows(2).all(|pair| pair[0].len() >= pair[1].len()));
    }

    #[test]
    fn st_05_unchanged_parallelism_gives_every_subtask_its_own_list(old in lists(), rotation in 0..20usize) {
        prop_assume!(!old.is_empty());
        prop_assert_eq!(even_split(old.clone(), old.len(), rotation), old);
    }

    #[test]
    fn st_06_union_gives_everyone_all(old in lists(), p in 1..9usize) {
        let all: Vec<u32> = old.concat();
        let new = union(old, p);
        prop_assert_eq!(new.len(), p);
        prop_assert!(new.iter().all(|list| *list == all));
    }
}

#[test]
fn st_05_three_to_two_to_five() {
    let three = vec![vec!['a', 'b', 'c'], vec!['d'], vec!['e', 'f', 'g']];
    let two = even_split(three, 2, 0);
    assert_eq!(two, [vec!['a', 'b', 'c', 'd'], vec!['e', 'f', 'g']]);
    let five = even_split(two, 5, 0);
    assert_eq!(five, [vec!['a', 'b'], vec!['c', 'd'], vec!['e'], vec!['f'], vec!['g']]);
}

#[test]
fn st_05_fewer_elements_than_subtasks_leave_empty_parts() {
    assert_eq!(even_split(vec![vec![1, 2]], 4, 0), [vec![1], vec![2], vec![], vec![]]);
    assert_eq!(even_split(vec![vec![1, 2]], 4, 3), [vec![2], vec![], vec![], vec![1]]);
    assert_eq!(even_split(Vec::<Vec<u8>>::new(), 2, 1), [vec![], vec![]]);
}

#[test]
fn st_06_no_growth_over_five_restores_when_owners_keep_their_part() {
    let mut lists = vec![vec![0, 1], vec![2], vec![3, 4, 5]];
    for _ in 0..5 {
        lists = union(lists, 3)
            .into_iter()
            .enumerate()
            .map(|(subtask, all)| all.into_iter().filter(|element| element % 3 == subtask).collect())
            .collect();
        assert_eq!(lists.iter().map(Vec::len).sum::<usize>(), 6);
    }
    assert_eq!(lists, [[0, 3], [1, 4], [2, 5]]);
}

#[test]
fn the_source_says_which_of_the_two() {
    let old = vec![vec![1], vec![2], vec![3]];
    assert_eq!(redistribute(Redistribution::EvenSplit, old.clone(), 1, 0), [vec![1, 2, 3]]);
    assert_eq!(redistribute(Redistribution::Union, old, 2, 0), [[1, 2, 3], [1, 2, 3]]);
}
