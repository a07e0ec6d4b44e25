//! Key groups: the unit in which keyed state moves between subtasks (KG-01 to KG-05).
//!
//! A key's hash picks its key group, once and for ever; the group picks the subtask, and does so anew at every
//! parallelism. A subtask owns a contiguous range of groups.

use std::fmt;
use thiserror::Error;

mod router;
#[cfg(test)]
mod tests;

pub use router::{Grouper, Router};

/// The largest number of key groups.
pub const MAX_KEY_GROUPS: u32 = 1 << 15;

/// The smallest number of key groups that is chosen when the user names none.
const MIN_DEFAULT_GROUPS: u32 = 128;

/// A key group: `0..max_parallelism`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyGroup(pub u16);

impl fmt::Display for KeyGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The contiguous key groups of one subtask, both ends inclusive; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyGroupRange {
    start: KeyGroup,
    end: KeyGroup,
}

impl KeyGroupRange {
    /// The groups from `start` to `end`, both included. `None` when there are none.
    pub fn new(start: KeyGroup, end: KeyGroup) -> Option<Self> {
        (start <= end).then_some(Self { start, end })
    }

    /// The first group.
    pub fn start(self) -> KeyGroup {
        self.start
    }

    /// The last group.
    pub fn end(self) -> KeyGroup {
        self.end
    }

    /// How many groups there are; at least one.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(self) -> usize {
        usize::from(self.end.0 - self.start.0) + 1
    }

    /// Whether `group` is among them.
    pub fn contains(self, group: KeyGroup) -> bool {
        self.start <= group && group <= self.end
    }

    /// The groups that both have: what a subtask reads of an older snapshot (KG-05).
    pub fn intersect(self, other: Self) -> Option<Self> {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// The groups in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = KeyGroup> + ExactSizeIterator {
        (self.start.0..self.end.0 + 1).map(KeyGroup)
    }
}

impl fmt::Display for KeyGroupRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={}", self.start, self.end)
    }
}

/// A parallelism, or a maximum of it, that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParallelismError {
    /// More subtasks than key groups.
    #[error(
        "a parallelism of {parallelism} exceeds the max parallelism of {max_parallelism} (the number of key groups): \
         lower the one, or raise the other before the job has state"
    )]
    AboveMax {
        /// The subtasks asked for.
        parallelism: i64,
        /// The key groups there are.
        max_parallelism: i64,
    },
    /// No subtask, or less.
    #[error(
        "a parallelism of {parallelism} is not possible: between 1 and {} are",
        max_parallelism.unwrap_or(i64::from(MAX_KEY_GROUPS))
    )]
    Parallelism {
        /// The subtasks asked for.
        parallelism: i64,
        /// The key groups asked for, if any were.
        max_parallelism: Option<i64>,
    },
    /// No key group, or too many.
    #[error("a max parallelism of {0} is not possible: between 1 and {MAX_KEY_GROUPS} are")]
    MaxParallelism(i64),
}

/// How many subtasks share how many key groups.
///
/// ```
/// use millstream_state::key_group::{KeyGroup, Parallelism};
///
/// let three = Parallelism::new(3, Some(128)).unwrap();
/// let ranges: Vec<_> = (0..3).map(|i| three.range_of(i).to_string()).collect();
/// assert_eq!(ranges, ["0..=42", "43..=85", "86..=127"]);
/// assert_eq!(three.subtask_of(KeyGroup(43)), 1);
/// assert_eq!(
///     Parallelism::new(129, Some(128)).unwrap_err().to_string(),
///     "a parallelism of 129 exceeds the max parallelism of 128 (the number of key groups): lower the one, or raise \
///      the other before the job has state"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallelism {
    subtasks: u32,
    groups: u32,
}

impl Parallelism {
    /// `parallelism` subtasks over `max_parallelism` key groups; without the latter, [`default_max_parallelism`].
    ///
    /// # Errors
    /// [`ParallelismError`] for numbers outside 1 to [`MAX_KEY_GROUPS`], or more subtasks than groups (MS-025).
    pub fn new(parallelism: i64, max_parallelism: Option<i64>) -> Result<Self, ParallelismError> {
        let groups = match max_parallelism {
            Some(max) => within_bounds(max).ok_or(ParallelismError::MaxParallelism(max))?,
            None => MAX_KEY_GROUPS,
        };
        if parallelism > i64::from(groups) {
            return Err(ParallelismError::AboveMax { parallelism, max_parallelism: i64::from(groups) });
        }
        let subtasks = within_bounds(parallelism)
            .ok_or(ParallelismError::Parallelism { parallelism, max_parallelism })?;
        let groups = if max_parallelism.is_some() { groups } else { default_max_parallelism(subtasks) };
        Ok(Self { subtasks, groups })
    }

    /// Subtasks: at least one, at most [`Parallelism::max`].
    pub fn subtasks(self) -> usize {
        self.subtasks as usize
    }

    /// Key groups.
    pub fn max(self) -> u32 {
        self.groups
    }

    /// The groups that subtask `subtask` owns (KG-01).
    ///
    /// # Panics
    /// When there is no such subtask.
    pub fn range_of(self, subtask: usize) -> KeyGroupRange {
        assert!(subtask < self.subtasks(), "subtask {subtask} of {}", self.subtasks);
        let (i, p, max) = (subtask as u64, u64::from(self.subtasks), u64::from(self.groups));
        let group = |value: u64| KeyGroup(u16::try_from(value).expect("a group is below 32768"));
        KeyGroupRange { start: group((i * max).div_ceil(p)), end: group(((i + 1) * max - 1) / p) }
    }

    /// The subtask that owns `group` (KG-01).
    pub fn subtask_of(self, group: KeyGroup) -> usize {
        (u32::from(group.0) * self.subtasks / self.groups) as usize
    }

    /// Hash to group, for these groups.
    pub fn grouping(self) -> Grouping {
        Grouping::new(self.groups)
    }

    /// Hash to subtask, for the record path.
    pub fn router(self) -> Router {
        Router::new(self)
    }
}

fn within_bounds(value: i64) -> Option<u32> {
    u32::try_from(value).ok().filter(|value| (1..=MAX_KEY_GROUPS).contains(value))
}

/// The max parallelism of a job that names none (KG-03): `min(max(nextPow2(p + p div 2), 128), 32768)`.
pub fn default_max_parallelism(parallelism: u32) -> u32 {
    let parallelism = parallelism.min(MAX_KEY_GROUPS);
    (parallelism + parallelism / 2).next_power_of_two().clamp(MIN_DEFAULT_GROUPS, MAX_KEY_GROUPS)
}

/// The key group of a hash among `max_parallelism` (KG-01, ruling 16): the upper 32 bits of the hash as an `i32`, the
/// murmur3_x86_32 hash (seed 0) of its four little-endian bytes, made non-negative, modulo `max_parallelism`.
///
/// ```
/// use millstream_state::key_group::{Grouping, KeyGroup};
///
/// let groups = Grouping::new(128);
/// let group = |value: i32| groups.group(u64::from(value as u32) << 32);
/// assert_eq!([0, 1, 42, -1, i32::MIN].map(group), [94, 86, 29, 80, 108].map(KeyGroup));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    max: u32,
    /// `2^64 / max`, rounded up: a remainder by two multiplications.
    inverse: u64,
}

impl Grouping {
    /// For `max_parallelism` groups.
    ///
    /// # Panics
    /// When there is none, or more than [`MAX_KEY_GROUPS`].
    pub fn new(max_parallelism: u32) -> Self {
        assert!((1..=MAX_KEY_GROUPS).contains(&max_parallelism), "{max_parallelism} key groups");
        Self { max: max_parallelism, inverse: (u64::MAX / u64::from(max_parallelism)).wrapping_add(1) }
    }

    /// The number of groups.
    pub fn max(self) -> u32 {
        self.max
    }

    /// The group of a key with this hash; the lower half of the hash does not count.
    #[inline(always)]
    pub fn group(self, hash: u64) -> KeyGroup {
        KeyGroup(self.index((hash >> 32) as u32) as u16)
    }

    #[inline(always)]
    fn index(self, half: u32) -> u32 {
        let value = absolute(murmur(half));
        if self.max & (self.max - 1) == 0 {
            return value & (self.max - 1);
        }
        // Exact for every 32-bit value and divisor (Lemire, Kaser and Kurz 2019).
        let fraction = self.inverse.wrapping_mul(u64::from(value));
        ((u128::from(fraction) * u128::from(self.max)) >> 64) as u32
    }
}

/// The absolute value of `mixed` as an `i32`; that of `i32::MIN` is 0.
#[inline(always)]
fn absolute(mixed: u32) -> u32 {
    mixed.cast_signed().unsigned_abs() & 0x7fff_ffff
}

/// murmur3_x86_32 with seed 0 of the four little-endian bytes of `value`.
#[inline(always)]
fn murmur(value: u32) -> u32 {
    let k = value.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut h = k.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    h ^= 4;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}
