//! What happens to a line's checkpoints when a job ends (ruling 10). Pure.

use crate::lineage::LineEnd;
use std::path::PathBuf;

/// `execution.checkpointing.externalized-checkpoint-retention`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Deleted at every end except a suspend.
    NoExternalized,
    /// A job that failed for good keeps its checkpoints, one that was cancelled does not.
    #[default]
    DeleteOnCancellation,
    /// Kept at cancellation, too.
    RetainOnCancellation,
}

/// How a run of a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// All input was processed and committed; or it was stopped for good, with everything drained.
    Finished,
    /// It was stopped with the snapshot in this directory (absolute), from which the next start goes on (ruling 3).
    Stopped(PathBuf),
    /// It was cancelled.
    Canceled,
    /// It failed for good.
    Failed,
    /// It was told to pause: the next start goes on (ruling 4).
    Suspended,
}

/// How the line ends and so what becomes of its checkpoints: `None` when it stays open and they are kept.
pub fn line_end(end: &JobEnd, retention: Retention) -> Option<LineEnd> {
    match (end, retention) {
        (JobEnd::Finished, _) => Some(LineEnd::Finished),
        (JobEnd::Stopped(dir), _) => Some(LineEnd::Stopped(dir.clone())),
        (JobEnd::Canceled, Retention::RetainOnCancellation) => None,
        (JobEnd::Canceled, _) => Some(LineEnd::Canceled),
        (JobEnd::Failed, Retention::NoExternalized) => Some(LineEnd::Canceled),
        (JobEnd::Failed | JobEnd::Suspended, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RT-02 in Millstream's form: three policies, five ends.
    #[test]
    fn rt_02_retention_matrix() {
        let stopped = JobEnd::Stopped("/c/chk-9".into());
        let ends = [JobEnd::Finished, stopped, JobEnd::Canceled, JobEnd::Failed, JobEnd::Suspended];
        let row = |retention| ends.each_ref().map(|end| line_end(end, retention));
        let kept_at_9 = Some(LineEnd::Stopped("/c/chk-9".into()));
        let (finished, gone) = (Some(LineEnd::Finished), Some(LineEnd::Canceled));
        assert_eq!(Retention::default(), Retention::DeleteOnCancellation);
        assert_eq!(
            row(Retention::NoExternalized),
            [finished.clone(), kept_at_9.clone(), gone.clone(), gone.clone(), None]
        );
        assert_eq!(
            row(Retention::DeleteOnCancellation),
            [finished.clone(), kept_at_9.clone(), gone, None, None]
        );
        assert_eq!(row(Retention::RetainOnCancellation), [finished, kept_at_9, None, None, None]);
    }
}
