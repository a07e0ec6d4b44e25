//! When a file has had enough: a pure decision over sizes and moments.

use crate::clock::Moment;
use std::time::Duration;

/// Limits after which a file is closed and the next one begun (SK-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rolling {
    /// Bytes; the record that reaches the limit still belongs to the file.
    pub size: u64,
    /// Time since its first record.
    pub age: Duration,
    /// Time since its last record.
    pub inactivity: Duration,
}

impl Default for Rolling {
    /// 128 MB, 60 s, 60 s.
    fn default() -> Self {
        Self { size: 128 << 20, age: Duration::from_secs(60), inactivity: Duration::from_secs(60) }
    }
}

/// When a file was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    pub first: Moment,
    pub last: Moment,
}

impl Rolling {
    /// The moment at which a file is closed if nothing more is written to it.
    pub(super) fn due(&self, activity: Activity) -> Moment {
        activity.first.saturating_add(self.age).min(activity.last.saturating_add(self.inactivity))
    }

    /// A moment before which no file that is begun after `now` is due.
    pub(super) fn earliest(&self, now: Moment) -> Moment {
        now.saturating_add(self.age.min(self.inactivity))
    }

    /// How many bytes may wait in memory in front of a file of `len` bytes before somebody has to look.
    pub(super) fn room(&self, len: u64, buffer: usize) -> usize {
        let left = self.size.saturating_sub(len);
        usize::try_from(left).unwrap_or(usize::MAX).min(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(first: u64, last: u64) -> Activity {
        Activity { first: Duration::from_secs(first), last: Duration::from_secs(last) }
    }

    #[test]
    fn due_at_the_age_or_when_inactive_whichever_is_first() {
        let rolling = Rolling {
            age: Duration::from_secs(60),
            inactivity: Duration::from_secs(10),
            ..Rolling::default()
        };
        assert_eq!(rolling.due(at(100, 100)), Duration::from_secs(110));
        assert_eq!(rolling.due(at(100, 149)), Duration::from_secs(159));
        assert_eq!(rolling.due(at(100, 159)), Duration::from_secs(160));
    }

    #[test]
    fn room_ends_at_the_size_limit_or_at_the_buffer() {
        let rolling = Rolling { size: 1000, ..Rolling::default() };
        assert_eq!(rolling.room(0, 64), 64);
        assert_eq!(rolling.room(990, 64), 10);
        assert_eq!(rolling.room(1000, 64), 0);
        assert_eq!(rolling.room(2000, 64), 0);
    }

    #[test]
    fn limits_beyond_all_time_never_come() {
        let rolling = Rolling { age: Duration::MAX, inactivity: Duration::MAX, ..Rolling::default() };
        assert_eq!(rolling.due(at(5, 5)), Duration::MAX);
    }
}
