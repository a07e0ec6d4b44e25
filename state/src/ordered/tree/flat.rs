//! Trees out of the bytes of a snapshot, read as a whole: all entries of all leaves, in no particular order. Whether inner nodes lead
//! to them is not asked, since every page is looked at.

use super::check::check_layout;
use super::node::{Header, INNER, LEAF, Node, Page};
use super::run::{self, HEADER, RUN, Reference};
use crate::paged::memory::{PAGE, SEGMENT_PAGES};
use crate::rows::Row;

type Problem = (usize, &'static str);

/// All entries of the pages of a group, which lie one behind the other.
///
/// # Errors
/// Where something is not as nodes and runs are, and what.
pub(crate) fn rows(pages: &[u8]) -> Result<Vec<Row>, Problem> {
    let (mut rows, mut local) = (Vec::new(), 0);
    let page = |local: usize| pages.get(local * PAGE..).and_then(<[u8]>::first_chunk::<PAGE>);
    while let Some(bytes) = page(local) {
        let at = local * PAGE;
        match bytes[0] {
            LEAF => leaf(pages, at, bytes, &mut rows).map_err(|problem| (at, problem))?,
            0 | INNER => {}
            RUN if u32::from(bytes[1]) > SEGMENT_PAGES.ilog2() => {
                return Err((at, "a run is longer than can be"));
            }
            RUN => local += (1 << bytes[1]) - 1,
            _ => return Err((at, "a page is of a kind that is not known")),
        }
        local += 1;
    }
    Ok(rows)
}

fn leaf(pages: &[u8], at: usize, page: &Page, rows: &mut Vec<Row>) -> Result<(), &'static str> {
    let node = Node { page, header: Header::parse(page) };
    if !node.is_leaf() {
        return Err("a leaf has levels below it");
    }
    check_layout(node)?;
    for (index, item) in node.items().enumerate() {
        let key = at + node.at(index) + super::node::HEAD;
        let (value, len) = if item.far {
            let run = Reference::parse(item.value);
            let (first, len) = (run.page as usize * PAGE, run.len as usize);
            let there =
                pages.get(first) == Some(&RUN) && len <= run::MOST && first + HEADER + len <= pages.len();
            if !there {
                return Err("a value is not in a run");
            }
            (first + HEADER, len)
        } else {
            (key + item.key.len(), item.value.len())
        };
        rows.push(Row::new(key, item.key.len(), value, len));
    }
    Ok(())
}
