//! Whether a simulated process has anything to do before time passes.

use millstream_io::clock::Moment;

/// Who has had nothing to do since something last happened.
#[derive(Default)]
pub(crate) struct Quiet {
    cells: Vec<bool>,
    supervisor: bool,
    due: Option<Moment>,
}

impl Quiet {
    /// Something happened.
    pub(crate) fn noise(&mut self) {
        self.cells.clear();
        self.supervisor = false;
        self.due = None;
    }

    /// A subtask has nothing to do before `due`.
    pub(crate) fn cell(&mut self, index: usize, due: Option<Moment>) {
        if self.cells.len() <= index {
            self.cells.resize(index + 1, false);
        }
        self.cells[index] = true;
        self.earlier(due);
    }

    /// The supervisor has nothing to do before `due`.
    pub(crate) fn supervisor(&mut self, due: Option<Moment>) {
        // Its turn may have sent messages: whoever was quiet before must be asked again.
        if !self.supervisor {
            self.noise();
            self.supervisor = true;
        }
        self.earlier(due);
    }

    fn earlier(&mut self, due: Option<Moment>) {
        self.due = match (self.due, due) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// Whether nobody of so many subtasks, nor the supervisor, has anything to do.
    pub(crate) fn is_complete(&self, cells: usize) -> bool {
        self.supervisor && self.cells.iter().filter(|quiet| **quiet).count() == cells
    }

    /// When the first of them has.
    pub(crate) fn due(&self) -> Option<Moment> {
        self.due
    }
}
