//! Savepoints: everything that a snapshot needs in one directory of its own, which may be moved and copied (SP-02).
//!
//! A savepoint is made of a snapshot whose files are written, in the background, key group by key group: whoever took the snapshot
//! has gone on by then, and its pages are not read again. The canonical form has the entries of each group in the order of their
//! keys, whatever backend kept them (SP-03); the native form has the backend's own bytes, those of a chain merged. Either is
//! complete once its `_metadata` is published, as a checkpoint is.
//!
//! `plan` says what there is to do, `piece` does it for one key group, `saving` writes the results.

mod dispose;
mod fault;
mod piece;
mod plan;
mod saving;
#[cfg(test)]
pub(crate) mod tests;

pub use dispose::dispose;
pub use fault::SavepointFault;
pub(crate) use fault::label as state_label;
pub(crate) use plan::split;
pub use saving::{Origin, Saving, save};

use crate::job_id::JobId;

/// The name of a savepoint's directory; `number`, of which 48 bits count, tells it from all others of the job.
///
/// ```
/// use millstream_state::{JobId, savepoint};
/// assert_eq!(savepoint::name(JobId::of("abc"), 0xabc), "savepoint-06b05a-000000000abc");
/// ```
pub fn name(job: JobId, number: u64) -> String {
    let job = job.to_string();
    format!("savepoint-{}-{:012x}", &job[..6], number & 0xffff_ffff_ffff)
}
