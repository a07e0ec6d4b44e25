//! How list state is given out when a job is restored (ST-05, ST-06). Pure: elements may be anything.

use millstream_io::source::Redistribution;

#[cfg(test)]
mod tests;

/// Gives the lists of the old subtasks, in subtask order, to `parallelism` new ones.
///
/// `rotation` is the index of the state among those of its operator: the subtasks that get one element more begin
/// there, so that several states with few elements do not all end up on subtask 0.
///
/// # Panics
/// When `parallelism` is 0.
pub fn redistribute<T: Clone>(
    how: Redistribution,
    old: Vec<Vec<T>>,
    parallelism: usize,
    rotation: usize,
) -> Vec<Vec<T>> {
    match how {
        Redistribution::EvenSplit => even_split(old, parallelism, rotation),
        Redistribution::Union => union(old, parallelism),
    }
}

/// Even split (ST-05): at unchanged parallelism every subtask gets its own list back; else all lists one after the
/// other, cut into contiguous parts, of which the first `total mod parallelism` hold one element more. The parts go
/// to the subtasks from `rotation` on, round about.
///
/// ```
/// use millstream_state::redistribute::even_split;
///
/// let old = vec![vec![1, 2, 3], vec![4], vec![]];
/// assert_eq!(even_split(old.clone(), 2, 0), [vec![1, 2], vec![3, 4]]);
/// assert_eq!(even_split(old.clone(), 3, 0), old);
/// assert_eq!(even_split(vec![vec!['a']], 3, 1), [vec![], vec!['a'], vec![]]);
/// ```
///
/// # Panics
/// When `parallelism` is 0.
pub fn even_split<T>(old: Vec<Vec<T>>, parallelism: usize, rotation: usize) -> Vec<Vec<T>> {
    assert!(parallelism > 0, "a job has at least one subtask");
    if old.len() == parallelism {
        return old;
    }
    let total: usize = old.iter().map(Vec::len).sum();
    let (least, one_more) = (total / parallelism, total % parallelism);
    let mut elements = old.into_iter().flatten();
    let mut parts: Vec<Vec<T>> = (0..parallelism)
        .map(|part| elements.by_ref().take(least + usize::from(part < one_more)).collect())
        .collect();
    parts.rotate_right(rotation % parallelism);
    parts
}

/// Union (ST-06): every subtask gets all lists one after the other, whether the parallelism changed or not. Each must
/// keep only its part, or the next snapshot multiplies the elements.
///
/// ```
/// use millstream_state::redistribute::union;
///
/// assert_eq!(union(vec![vec![1], vec![2, 3]], 2), [vec![1, 2, 3], vec![1, 2, 3]]);
/// ```
///
/// # Panics
/// When `parallelism` is 0.
pub fn union<T: Clone>(old: Vec<Vec<T>>, parallelism: usize) -> Vec<Vec<T>> {
    assert!(parallelism > 0, "a job has at least one subtask");
    vec![old.into_iter().flatten().collect(); parallelism]
}
