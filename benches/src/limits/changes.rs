//! `state/bytes-per-change` by hand: which lines have changed is found by comparing all of the state with what it was, line
//! by line. Nothing of what the state itself knows of its changes is used.

use crate::engine::changes::Changes;
use crate::engine::files::snapshot;
use crate::workload::Outcome;
use millstream_state::keyed::Extent;
use millstream_state::{KeyedSnapshot, Snapshots};
use std::collections::HashMap;

const LINE: usize = 64;
const LINES: usize = 64;

/// The pages of a state, by key group and number: lines that nobody has written are zero.
type Shadow = HashMap<(u16, u32), Vec<[u8; LINE]>>;

/// Millions of bytes of the lines that have changed between two snapshots.
///
/// # Errors
/// A snapshot that is not of all pages.
pub fn run() -> Result<Outcome, String> {
    let mut changes = Changes::new()?;
    let mut before = shadow(&snapshot(&mut changes.state))?;
    changes.run(|state| {
        state.forget_base();
        let after = shadow(&snapshot(state))?;
        let lines = changed(&before, &after);
        before = after;
        Ok((lines * LINE) as u64)
    })
}

fn changed(before: &Shadow, after: &Shadow) -> usize {
    let fresh = vec![[0; LINE]; LINES];
    let in_page = |(number, page): (_, &Vec<[u8; LINE]>)| {
        let before = before.get(number).unwrap_or(&fresh);
        page.iter().zip(before).filter(|(after, before)| after != before).count()
    };
    after.iter().map(in_page).sum()
}

/// What a snapshot of everything holds, read as the description of the format has it.
fn shadow(snapshot: &KeyedSnapshot) -> Result<Shadow, String> {
    if snapshot.extent != Extent::Base {
        return Err("it is not a snapshot of all pages".into());
    }
    let mut shadow = Shadow::new();
    for chunk in &snapshot.groups {
        let fault = || format!("the pages of key group {} end too early", chunk.group);
        let mut rest = chunk.bytes.strip_prefix(&[1]).ok_or("a key group is not kept in pages")?;
        let mut page = 0u32;
        while !rest.is_empty() {
            let (number, mut mask) = head(&mut rest, page).ok_or_else(fault)?;
            page = number;
            let lines = shadow.entry((chunk.group.0, page)).or_insert_with(|| vec![[0; LINE]; LINES]);
            while mask != 0 {
                let (line, behind) = rest.split_first_chunk().ok_or_else(fault)?;
                lines[mask.trailing_zeros() as usize] = *line;
                (mask, rest) = (mask & (mask - 1), behind);
            }
        }
    }
    Ok(shadow)
}

/// The beginning of an entry: its page and which lines follow.
fn head(rest: &mut &[u8], before: u32) -> Option<(u32, u64)> {
    let (mut step, mut shift) = (0u64, 0);
    loop {
        let byte = take(rest)?;
        step |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    let step = if step & 1 == 0 { step / 2 } else { !(step / 2) };
    let mask = match take(rest)? {
        line @ 0..64 => 1 << line,
        64 => {
            let (mask, behind) = rest.split_first_chunk()?;
            *rest = behind;
            u64::from_le_bytes(*mask)
        }
        _ => u64::MAX,
    };
    Some((before.wrapping_add(step as u32), mask))
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (byte, behind) = rest.split_first()?;
    *rest = behind;
    Some(*byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_state::{GroupChunk, KeyGroup};

    /// Page 3 with lines 0 and 2, then page 1 with all, by hand.
    #[test]
    fn lines_are_where_the_format_says() {
        let mut bytes = vec![1, 6, 64, 0b101, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([[7; LINE], [8; LINE]].concat());
        bytes.extend([3, 65]);
        bytes.extend([9; LINE * LINES]);
        let groups = vec![GroupChunk { group: KeyGroup(5), entries: 1, bytes }];
        let shadow = shadow(&KeyedSnapshot { groups, extent: Extent::Base }).unwrap();
        assert_eq!(shadow.len(), 2);
        assert_eq!(shadow[&(5, 3)][..3], [[7; LINE], [0; LINE], [8; LINE]]);
        assert_eq!(shadow[&(5, 1)], [[9; LINE]; LINES]);
    }

    #[test]
    fn lines_that_hold_the_same_have_not_changed() {
        let page = |byte: u8| {
            let mut lines = vec![[1; LINE]; LINES];
            lines[4][63] = byte;
            lines
        };
        let before = Shadow::from([((0, 0), page(1)), ((0, 1), page(1))]);
        let after = Shadow::from([((0, 0), page(2)), ((0, 1), page(1)), ((1, 0), page(0))]);
        assert_eq!(changed(&before, &after), 1 + LINES);
    }
}
