//! What becomes of a file that the restored checkpoint names: a pure decision over what is found on disk.

use super::lifecycle::FileState;
use super::name::Part;
use crate::id::CheckpointId;
use std::fmt;

/// The lengths of a file under its two names, where it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub hidden: Option<u64>,
    pub visible: Option<u64>,
}

/// What to do with a file of the restored checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: it is where it belongs.
    Nothing,
    /// Make it visible when the restored checkpoint is committed (again).
    Commit { len: u64, checkpoint: CheckpointId },
    /// Cut it to this length and go on with it.
    GoOn { len: u64, records: u64 },
    /// Go on with a copy of so much of it: it belongs to somebody else.
    Copy { len: u64, records: u64 },
    /// Its data is gone.
    Lost(Loss),
}

/// Data that the checkpoint counts as written and that is not there any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub len: u64,
    pub checkpoint: Option<u64>,
    /// The length of what is left, if anything is.
    pub left: Option<u64>,
    /// Whether what is left has been visible.
    pub visible: bool,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.left {
            None => f.write_str("the file is gone, under this name and under its final one; ")?,
            Some(left) if self.visible => write!(f, "the committed file was cut to {left} bytes; ")?,
            Some(left) => write!(f, "the file was cut to {left} bytes; ")?,
        }
        match self.checkpoint {
            Some(id) => write!(f, "{} bytes of it belong to checkpoint {id} and would be lost", self.len),
            None => write!(f, "{} bytes of it belong to the restored checkpoint and would be lost", self.len),
        }
    }
}

/// Decides for one element of restored state; `owner` is the one who starts now.
pub(super) fn decide(state: &FileState, found: Found, owner: &str) -> Step {
    match *state {
        FileState::Counter { .. } => Step::Nothing,
        FileState::Pending { len, checkpoint, .. } => pending(len, checkpoint, found),
        FileState::Open { ref part, len, records } => open(part, len, records, found, owner),
    }
}

fn pending(len: u64, checkpoint: u64, found: Found) -> Step {
    let loss = |left, visible| Step::Lost(Loss { len, checkpoint: Some(checkpoint), left, visible });
    match (found.hidden, found.visible) {
        (Some(left), _) if left < len => loss(Some(left), false),
        (Some(_), _) => Step::Commit { len, checkpoint: CheckpointId(checkpoint) },
        (None, Some(left)) if left < len => loss(Some(left), true),
        (None, Some(_)) => Step::Commit { len, checkpoint: CheckpointId(checkpoint) },
        (None, None) => loss(None, false),
    }
}

fn open(part: &Part, len: u64, records: u64, found: Found, owner: &str) -> Step {
    let loss = |left, visible| Step::Lost(Loss { len, checkpoint: None, left, visible });
    match (found.hidden, found.visible) {
        (Some(left), _) if left < len => loss(Some(left), false),
        (Some(_), _) if part.owner == owner => Step::GoOn { len, records },
        (Some(_), _) => Step::Copy { len, records },
        // A later checkpoint, which is not the one restored, has committed it.
        (None, Some(left)) if left >= len => Step::Nothing,
        (None, left) => loss(left, left.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Found = Found { hidden: Some(10), visible: None };
    const VISIBLE: Found = Found { hidden: None, visible: Some(10) };
    const GONE: Found = Found { hidden: None, visible: None };

    fn part() -> Part {
        Part { subtask: 0, number: 4, suffix: String::new(), owner: "me.1".into() }
    }

    fn pending(len: u64) -> FileState {
        FileState::Pending { part: part(), len, checkpoint: 7 }
    }

    fn open(len: u64) -> FileState {
        FileState::Open { part: part(), len, records: 2 }
    }

    fn commit(len: u64) -> Step {
        Step::Commit { len, checkpoint: CheckpointId(7) }
    }

    #[test]
    fn pending_files_are_committed_or_have_been() {
        assert_eq!(decide(&pending(10), HERE, "me.1"), commit(10));
        assert_eq!(decide(&pending(10), HERE, "other.1"), commit(10));
        assert_eq!(decide(&pending(10), VISIBLE, "me.1"), commit(10));
    }

    #[test]
    fn ms_030_a_pending_file_that_is_gone_is_a_loss_that_names_the_checkpoint() {
        let Step::Lost(loss) = decide(&pending(10), GONE, "me.1") else { panic!("not noticed") };
        assert_eq!(
            loss.to_string(),
            "the file is gone, under this name and under its final one; 10 bytes of it belong to checkpoint 7 and \
             would be lost"
        );
    }

    #[test]
    fn ms_072_a_file_that_was_cut_below_what_a_checkpoint_counts_is_a_loss() {
        for (state, found) in
            [(pending(11), HERE), (pending(11), VISIBLE), (open(11), HERE), (open(11), VISIBLE)]
        {
            let Step::Lost(loss) = decide(&state, found, "me.1") else { panic!("{state:?}") };
            assert_eq!((loss.left, loss.visible), (Some(10), found == VISIBLE));
        }
    }

    #[test]
    fn ms_072_what_was_written_after_the_checkpoint_may_be_cut() {
        assert_eq!(decide(&open(10), HERE, "me.1"), Step::GoOn { len: 10, records: 2 });
        assert_eq!(decide(&open(3), HERE, "me.1"), Step::GoOn { len: 3, records: 2 });
    }

    #[test]
    fn ruling_5_a_file_of_another_owner_is_copied_never_cut() {
        assert_eq!(decide(&open(3), HERE, "me.2"), Step::Copy { len: 3, records: 2 });
        assert_eq!(decide(&open(3), HERE, "you.1"), Step::Copy { len: 3, records: 2 });
    }

    #[test]
    fn an_open_file_that_a_later_checkpoint_committed_is_left_alone() {
        assert_eq!(decide(&open(10), VISIBLE, "me.1"), Step::Nothing);
    }
}
