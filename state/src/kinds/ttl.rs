//! How long what is in a state lives (TT-01).

use std::time::Duration;

/// Bytes of the time of the last access.
pub(super) const TIME: usize = 8;

/// How long values, elements, and entries of maps live after they were accessed last, in processing time.
///
/// It is not part of a snapshot: a program with another duration applies that to the times that were kept (TT-02). Only whether
/// there is one is. Time that the job does not run counts.
///
/// What has expired is removed when it is read, and in the background a little with every record and as time passes; a snapshot that
/// has all of the state leaves it out (TT-03).
///
/// ```
/// use millstream_state::kinds::{Ttl, TtlUpdate, TtlVisibility};
/// use std::time::Duration;
///
/// let hour = Ttl::new(Duration::from_secs(3600));
/// assert_eq!((hour.update, hour.visibility), (TtlUpdate::OnCreateAndWrite, TtlVisibility::NeverReturnExpired));
/// let of_sessions = Ttl { update: TtlUpdate::OnReadAndWrite, ..hour };
/// # let _ = of_sessions;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl {
    /// What is this old has expired. Whole milliseconds count; less than one is one.
    pub after: Duration,
    /// What makes it young again.
    pub update: TtlUpdate,
    /// Whether it can be read between its end and its removal.
    pub visibility: TtlVisibility,
}

/// What makes a value young again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlUpdate {
    /// Nothing lives for a limited time: as if there were no [`Ttl`].
    Disabled,
    /// Writing it.
    #[default]
    OnCreateAndWrite,
    /// Writing it and reading it.
    OnReadAndWrite,
}

/// Whether what has expired can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlVisibility {
    /// Never.
    #[default]
    NeverReturnExpired,
    /// As long as it has not been removed in the background.
    ReturnExpiredIfNotCleanedUp,
}

impl Ttl {
    /// A time to live that writing renews, and behind which nothing is returned.
    pub fn new(after: Duration) -> Self {
        Self { after, update: TtlUpdate::default(), visibility: TtlVisibility::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.update != TtlUpdate::Disabled
    }

    /// Whether what was accessed at `last` has expired, both in milliseconds since the epoch. Of a clock that was set back
    /// nothing is old.
    pub(super) fn is_over(&self, last: u64, now: u64) -> bool {
        let after = u64::try_from(self.after.as_millis()).unwrap_or(u64::MAX).max(1);
        now.saturating_sub(last) >= after
    }

    /// The newest time of what has expired now, if anything can have.
    pub(super) fn over_up_to(&self, now: u64) -> Option<u64> {
        let after = u64::try_from(self.after.as_millis()).unwrap_or(u64::MAX).max(1);
        now.checked_sub(after)
    }
}

/// The time in front of a value, and the rest of it.
pub(super) fn split(value: &[u8]) -> Option<(u64, &[u8])> {
    let (time, rest) = value.split_first_chunk::<TIME>()?;
    Some((u64::from_le_bytes(*time), rest))
}
