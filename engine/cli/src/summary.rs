//! What a run comes to: the summary that `--summary` writes.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The summary of a run; every field is always there. Records are counted over the job's line of checkpoints, each
/// once; `records_replayed`, `restarts`, `checkpoints_*` and `duration_ms` are of this process (ruling 29).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The job's name.
    pub job: String,
    /// 32 hex digits.
    pub job_id: String,
    /// `FINISHED`, `CANCELED`, `STOPPED` or `FAILED`.
    pub state: String,
    /// Default parallelism.
    pub parallelism: u32,
    /// Records read by sources.
    pub records_in: u64,
    /// Records committed by sinks.
    pub records_out: u64,
    /// Records read again after a restore.
    pub records_replayed: u64,
    /// Records that came too late.
    pub records_late: u64,
    /// Records that could not be used.
    pub records_rejected: u64,
    /// Checkpoints that completed.
    pub checkpoints_completed: u64,
    /// Checkpoints that failed.
    pub checkpoints_failed: u64,
    /// Restarts after failures.
    pub restarts: u64,
    /// What the first attempt of this process went on from.
    pub restored_from: Option<String>,
    /// The newest completed checkpoint.
    pub last_checkpoint: Option<String>,
    /// How long it ran.
    pub duration_ms: u64,
}

impl Summary {
    /// Writes it to a file: whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure::failed("write summary", path.display().to_string(), error);
        let mut text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{}.tmp", std::process::id()));
        fs::write(&partial, text).map_err(failed)?;
        fs::rename(&partial, path).map_err(|error| {
            let _ = fs::remove_file(&partial);
            failed(error)
        })
    }
}

/// The summary as it is written.
pub(crate) fn written(summary: &millstream::Summary) -> Summary {
    Summary {
        job: summary.job.clone(),
        job_id: summary.job_id.clone(),
        state: summary.state.to_string(),
        parallelism: u32::try_from(summary.parallelism).unwrap_or(u32::MAX),
        records_in: summary.records_in,
        records_out: summary.records_out,
        records_replayed: summary.records_replayed,
        records_late: summary.records_late,
        records_rejected: summary.records_rejected,
        checkpoints_completed: summary.checkpoints_completed,
        checkpoints_failed: summary.checkpoints_failed,
        restarts: summary.restarts,
        restored_from: summary.restored_from.as_ref().map(|path| path.to_string_lossy().into_owned()),
        last_checkpoint: last_path(summary),
        duration_ms: u64::try_from(summary.duration.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Where the last checkpoint that is kept is.
pub(crate) fn last_path(summary: &millstream::Summary) -> Option<String> {
    summary.last_checkpoint.as_ref().map(|last| last.path.to_string_lossy().into_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Of a job that has finished, with three records.
    pub(crate) fn finished() -> Summary {
        Summary {
            job: "pass".to_owned(),
            job_id: "0".repeat(32),
            state: "FINISHED".to_owned(),
            parallelism: 4,
            records_in: u64::MAX,
            records_out: 3,
            records_replayed: 0,
            records_late: 0,
            records_rejected: 0,
            checkpoints_completed: 1,
            checkpoints_failed: 0,
            restarts: 0,
            restored_from: None,
            last_checkpoint: Some("/ck/chk-1".to_owned()),
            duration_ms: 12,
        }
    }

    #[test]
    fn the_file_holds_one_object_with_the_fields_of_the_contract() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("summary.json");
        let summary = finished();
        summary.write(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let contract = "checkpoints_completed checkpoints_failed duration_ms job job_id last_checkpoint parallelism \
            records_in records_late records_out records_rejected records_replayed restarts restored_from state";
        assert_eq!(names, contract.split_whitespace().collect::<Vec<_>>());
        assert_eq!(value["records_in"].as_u64(), Some(u64::MAX));
        assert!(value["restored_from"].is_null());
    }

    #[test]
    fn a_summary_that_cannot_be_written_names_its_file() {
        let failure = finished().write(Path::new("/nowhere/at/all.json")).unwrap_err();
        assert_eq!((failure.code, failure.at.as_str()), (1, "/nowhere/at/all.json"));
    }
}
