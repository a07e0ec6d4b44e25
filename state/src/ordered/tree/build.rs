//! A node that is made at once.

use super::node::{HEADER, Header, Item, Page, SLOT, USED, put_item, slot_at};
use crate::paged::memory::PAGE;
use crate::paged::pages::Pages;

/// See the module page.
#[derive(Debug)]
pub(super) struct Builder {
    bytes: Page,
    header: Header,
}

impl Builder {
    pub fn new(kind: u8, level: u8) -> Self {
        let header = Header { kind, level, first: 0, count: 0, top: USED, live: 0 };
        Self { bytes: [0; PAGE], header }
    }

    /// Adds an entry behind the others; there must be room.
    pub fn push(&mut self, item: Item<'_>) {
        let header = &mut self.header;
        header.top -= item.size();
        put_item(&mut self.bytes[header.top..][..item.size()], item);
        let slot = slot_at(header.count);
        self.bytes[slot..][..SLOT].copy_from_slice(&(header.top as u16).to_le_bytes());
        header.live += item.size();
        header.count += 1;
    }

    /// Writes it over a page, of which only lines that differ change.
    pub fn write(mut self, pages: &mut Pages, page: usize) -> Header {
        self.bytes[..HEADER].copy_from_slice(&self.header.bytes());
        pages.replace(page * PAGE, &self.bytes);
        self.header
    }
}
