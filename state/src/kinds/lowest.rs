//! The lowest of as many numbers as there are key groups.

/// A tournament: a number or none for each of some places, and the lowest of all at the root.
#[derive(Clone, Debug)]
pub(super) struct Lowest {
    /// Leaves, a power of two.
    leaves: usize,
    /// The root is at 1, the children of `n` at `2n` and `2n + 1`, place 0 at `leaves`.
    nodes: Vec<Rank>,
}

/// A number, or none, which comes behind all numbers.
type Rank = (bool, i64);

const NONE: Rank = (true, 0);

impl Lowest {
    /// None in any of so many places.
    pub fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two();
        Self { leaves, nodes: vec![NONE; 2 * leaves] }
    }

    /// What a place has.
    pub fn get(&self, place: usize) -> Option<i64> {
        number(self.nodes[self.leaves + place])
    }

    /// Gives a place a number, or none.
    pub fn set(&mut self, place: usize, number: Option<i64>) {
        let mut at = self.leaves + place;
        self.nodes[at] = number.map_or(NONE, |number| (false, number));
        while at > 1 {
            at /= 2;
            let lower = self.nodes[2 * at].min(self.nodes[2 * at + 1]);
            if self.nodes[at] == lower {
                return;
            }
            self.nodes[at] = lower;
        }
    }

    /// The lowest number, and a place that has it.
    pub fn min(&self) -> Option<(i64, usize)> {
        let lowest = number(self.nodes[1])?;
        let mut at = 1;
        while at < self.leaves {
            at *= 2;
            if self.nodes[at] != (false, lowest) {
                at += 1;
            }
        }
        Some((lowest, at - self.leaves))
    }
}

fn number((none, number): Rank) -> Option<i64> {
    (!none).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_lowest_of_all(places in 1usize..9, sets in prop::collection::vec((0usize..9, any::<Option<i64>>()), 0..40)) {
            let (mut lowest, mut all) = (Lowest::new(places), vec![None; places]);
            for (place, number) in sets {
                let number = number.map(|n| n % 4 + if n % 5 == 0 { i64::MAX - 4 } else { 0 });
                lowest.set(place % places, number);
                all[place % places] = number;
                prop_assert_eq!(lowest.get(place % places), number);
                let found = lowest.min();
                prop_assert_eq!(found.map(|(n, _)| n), all.iter().flatten().min().copied());
                if let Some((n, place)) = found {
                    prop_assert_eq!(all[place], Some(n));
                }
            }
        }
    }
}
