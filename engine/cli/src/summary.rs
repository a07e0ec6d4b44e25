//! What a run comes to: the summary that `--summary` writes.

use crate::failure::Failure;
use rustix::fs::Access;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
    /// Refuses a file that could not be written in the end. Touches nothing.
    ///
    /// # Errors
    /// Why it could not.
    pub fn check(path: &Path) -> Result<(), Failure> {
        let refused = |cause: String| Failure::refused("write summary", path.display().to_string(), cause);
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(refused("it is a directory".to_owned())),
            Ok(found) if !found.is_file() => return Ok(()),
            _ => {}
        }
        let target = followed(path);
        let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match dir.metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(refused(format!("{} is not a directory", dir.display()))
                    .hint("name a file in a directory that is there"));
            }
            Err(error) => return Err(refused(error.to_string())),
        }
        rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
            refused(io::Error::from(error).to_string())
                .hint("the directory must be one that can be written to")
        })
    }

    /// Writes it to a file: whole or not at all. What is no regular file, such as a pipe, is written to as it is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::failed("write summary", path.display().to_string(), error);
        let mut text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        text.push('\n');
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let mut file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
            return file.write_all(text.as_bytes()).map_err(failed);
        }
        let target = followed(path);
        let mut partial = target.as_os_str().to_owned();
        partial.push(format!(".{}.tmp", std::process::id()));
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &target)).map_err(|error| {
            let _ = fs::remove_file(&partial);
            failed(error)
        })
    }
}

/// Where a link leads, if the path is one.
fn followed(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
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
    fn a_summary_that_could_not_be_written_is_refused_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        Summary::check(&dir.path().join("s.json")).unwrap();
        Summary::check(Path::new("s.json")).unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for (bad, cause) in [
            ("", "it is a directory"),
            ("none/s.json", "No such file"),
            ("file/s.json", "file is not a directory"),
        ] {
            let refused = Summary::check(&dir.path().join(bad)).unwrap_err();
            assert!(refused.code == 2 && refused.cause.contains(cause), "{refused}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// A device or a pipe is not replaced by a file, and a link stays one.
    #[test]
    fn what_is_no_regular_file_stays_what_it_is() {
        use std::os::unix::fs::FileTypeExt;
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link) = (dir.path().join("pipe"), dir.path().join("link"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
        };
        Summary::check(&pipe).unwrap();
        finished().write(&pipe).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&reader.join().unwrap()).unwrap(), finished());
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());

        fs::write(dir.path().join("target"), "old").unwrap();
        std::os::unix::fs::symlink("target", &link).unwrap();
        finished().write(&link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let text = fs::read_to_string(dir.path().join("target")).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), finished());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_summary_that_cannot_be_written_names_its_file() {
        let failure = finished().write(Path::new("/nowhere/at/all.json")).unwrap_err();
        assert_eq!((failure.code, failure.at.as_str()), (1, "/nowhere/at/all.json"));
    }
}
