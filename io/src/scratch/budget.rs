//! How much memory all regions have together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A number of bytes that regions share, and what they use of it. Clones share it.
///
/// ```
/// use millstream_io::scratch::Budget;
///
/// let budget = Budget::new(100);
/// let held = budget.charge(70).expect("there are 100");
/// assert!(budget.charge(40).is_none());
/// drop(held);
/// assert_eq!(budget.used(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    used: Arc<AtomicU64>,
    most: u64,
}

/// Bytes of a [`Budget`] that are used until this is dropped.
#[derive(Debug)]
pub struct Charge {
    used: Arc<AtomicU64>,
    bytes: u64,
}

impl Budget {
    /// So many bytes, none of which is used.
    pub fn new(most: u64) -> Self {
        Self { used: Arc::default(), most }
    }

    /// So many bytes, with all that budgets of this kind use in the process: jobs side by side have together as much memory
    /// as the one of them that may have most.
    pub fn of_the_process(most: u64) -> Self {
        static USED: OnceLock<Arc<AtomicU64>> = OnceLock::new();
        Self { used: USED.get_or_init(Arc::default).clone(), most }
    }

    /// Takes so many bytes, if there are as many.
    pub fn charge(&self, bytes: usize) -> Option<Charge> {
        let bytes = bytes as u64;
        let more = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.most);
        // Nothing else is read or written that depends on the number.
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Charge { used: self.used.clone(), bytes })
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_given_out_than_there_is_and_what_comes_back_is_given_out_again() {
        let budget = Budget::new(10);
        let held: Vec<_> = [4, 4, 4, 3, 2].map(|bytes| budget.charge(bytes)).into_iter().collect();
        let given = held.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!((given, budget.used()), (vec![true, true, false, false, true], 10));
        assert!(budget.charge(usize::MAX).is_none());
        drop(held);
        assert_eq!(budget.clone().charge(10).map(|charge| charge.bytes), Some(10));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn budgets_of_the_process_count_together() {
        let (one, other) = (Budget::of_the_process(100), Budget::of_the_process(50));
        let held = one.charge(60);
        assert!(held.is_some() && other.charge(1).is_none() && one.charge(40).is_some());
        drop(held);
        assert!(other.charge(50).is_some());
    }
}
