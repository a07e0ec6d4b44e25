//! Which segments of the key groups have changed since a barrier, so that a drain looks at these alone.

/// A bit for each segment of each group, by its number there.
#[derive(Debug)]
pub(super) struct Changed {
    groups: Vec<Vec<u64>>,
    count: usize,
}

impl Changed {
    /// None of so many groups.
    pub fn new(groups: usize) -> Self {
        Self { groups: vec![Vec::new(); groups], count: 0 }
    }

    /// How many have changed.
    pub fn count(&self) -> usize {
        self.count
    }

    /// One that was not among them has changed.
    pub fn add(&mut self, group: usize, nth: usize) {
        let (words, word) = (&mut self.groups[group], nth / 64);
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        debug_assert!(words[word] >> (nth % 64) & 1 == 0);
        words[word] |= 1 << (nth % 64);
        self.count += 1;
    }

    /// The first one of a group from this one on.
    pub fn next(&self, group: usize, from: usize) -> Option<usize> {
        let words = &self.groups[group];
        let first = words.get(from / 64)? & (u64::MAX << (from % 64));
        let rest = words[from / 64 + 1..].iter().copied();
        let mut words = std::iter::once(first).chain(rest).enumerate();
        let (skipped, word) = words.find(|(_, word)| *word != 0)?;
        Some((from / 64 + skipped) * 64 + word.trailing_zeros() as usize)
    }

    /// Whether it has changed.
    pub fn has(&self, group: usize, nth: usize) -> bool {
        self.groups[group].get(nth / 64).is_some_and(|word| word >> (nth % 64) & 1 == 1)
    }

    /// It counts as unchanged again.
    pub fn remove(&mut self, group: usize, nth: usize) {
        self.groups[group][nth / 64] &= !(1 << (nth % 64));
        self.count -= 1;
    }

    /// None has changed.
    pub fn clear(&mut self) {
        self.groups.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_found_in_order() {
        let mut changed = Changed::new(2);
        for nth in [200, 0, 63, 64, 65] {
            changed.add(1, nth);
        }
        let all = |changed: &Changed, group| {
            let mut from = 0;
            let next = || changed.next(group, from).inspect(|nth| from = nth + 1);
            std::iter::from_fn(next).collect::<Vec<_>>()
        };
        assert_eq!((all(&changed, 0), all(&changed, 1)), (vec![], vec![0, 63, 64, 65, 200]));
        assert!(changed.has(1, 64) && !changed.has(1, 66) && !changed.has(1, 1000) && !changed.has(0, 0));
        changed.remove(1, 64);
        assert_eq!((all(&changed, 1), changed.count()), (vec![0, 63, 65, 200], 4));
        changed.clear();
        assert_eq!((all(&changed, 1), changed.count()), (vec![], 0));
    }
}
