//! What one state may have where checkpoints are kept in memory (CS-02, ER-15): these are for tests and for small state.

use crate::error::Error;
use millstream_io::error::Class;
use millstream_state::snapshot::WrittenSnapshot;
use std::collections::BTreeMap;

/// Refuses a snapshot of which one state has more than `most` bytes.
pub(super) fn check(written: &WrittenSnapshot, most: u64) -> Result<(), Error> {
    for (operator, state) in &written.operators {
        let mut keyed: BTreeMap<u16, u64> = BTreeMap::new();
        for part in &state.keyed {
            *keyed.entry(part.state).or_default() += part.data.len();
        }
        let lists = state.lists.iter().map(|list| list.data.len());
        if let Some(size) = keyed.into_values().chain(lists).find(|size| *size > most) {
            let cause = format!(
                "it has {size} bytes, more than the {most} that one state may have in memory \
                 (execution.checkpointing.memory-storage.max-state-size); keep checkpoints in files instead \
                 (execution.checkpointing.storage=filesystem, with execution.checkpointing.dir)"
            );
            return Err(Error::new(
                Class::Restart,
                "snapshot",
                format!("state of operator {operator}"),
                cause,
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_state::OperatorId;
    use millstream_state::metadata::{GroupForm, Handle, KeyedHandle, ListHandle, SubtaskState};

    fn handle(len: u64) -> Handle {
        Handle::File { name: "0-0".into(), offset: 0, len }
    }

    fn written(keyed: &[(u16, u64)], lists: &[u64]) -> WrittenSnapshot {
        let keyed = keyed.iter().map(|(state, len)| KeyedHandle {
            state: *state,
            groups: Vec::new(),
            data: handle(*len),
            form: GroupForm::Backend,
        });
        let lists = lists.iter().map(|len| ListHandle { list: 0, elements: 1, crc: 0, data: handle(*len) });
        let state = SubtaskState { finished: false, keyed: keyed.collect(), lists: lists.collect() };
        WrittenSnapshot { operators: vec![(OperatorId::from_bits(7), state)], files: Vec::new() }
    }

    /// Each state by itself, whatever they have together; pieces of one state count together.
    #[test]
    fn cs_02_the_limit_is_of_one_state_and_er_15_says_what_there_is() {
        const MIB: u64 = 1 << 20;
        let most = 5 * MIB;
        for (keyed, lists) in [
            (&[(0, 5 * MIB), (1, 5 * MIB)][..], &[5 * MIB][..]),
            (&[(0, 2 * MIB), (0, 3 * MIB)], &[]),
            (&[], &[]),
        ] {
            check(&written(keyed, lists), most).unwrap();
        }
        for (keyed, lists, size) in [
            (&[(0, MIB), (1, 6 * MIB)][..], &[][..], 6 * MIB),
            (&[(3, 2 * MIB), (3, 3 * MIB), (3, 1)], &[], 5 * MIB + 1),
            (&[], &[6 * MIB], 6 * MIB),
        ] {
            let text = check(&written(keyed, lists), most).unwrap_err().to_string();
            for part in [&size.to_string()[..], "5242880", "execution.checkpointing.storage=filesystem"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
