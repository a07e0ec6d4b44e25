//! Whether a function has emitted anything.

use millstream_io::emit::Emit;
use millstream_io::record::Record;

/// Hands records on and notes that there were some. A function that emits nothing then costs no look at the rings, and
/// where it is inlined the note is no more than a branch that it has anyway.
pub(super) struct Noted<'a, S> {
    pub(super) below: &'a mut S,
    pub(super) any: bool,
}

impl<U: Record, S: Emit<U>> Emit<U> for Noted<'_, S> {
    #[inline(always)]
    fn emit(&mut self, record: U::Ref<'_>) {
        self.any = true;
        self.below.emit(record);
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.below.is_full()
    }
}
