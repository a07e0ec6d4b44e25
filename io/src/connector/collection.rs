//! Records in memory as a source.

use super::generator::within;
use super::ranges::{self, Range};
use crate::emit::Emit;
use crate::error::ConnectorError;
use crate::record::Record;
use crate::source::{Poll, Redistribution, Source, SourceContext};
use std::sync::Arc;

/// Records in one batch.
const BATCH: u64 = 1024;

/// Emits the records of a vector, each once, shared evenly among the subtasks in contiguous parts.
///
/// Replayable: which elements are left is part of every checkpoint (SR-10). The checkpoint holds their indices, not
/// the records: a restart in a new process must bring the same vector.
///
/// ```
/// use millstream_io::connector::Collection;
///
/// let words = Collection::new(vec!["to".to_owned(), "be".to_owned()]);
/// # let _ = words;
/// ```
pub struct Collection<T> {
    items: Arc<Vec<T>>,
    left: Vec<Range>,
}

impl<T> Collection<T> {
    /// Emits `items`.
    pub fn new(items: Vec<T>) -> Self {
        Self { items: Arc::new(items), left: Vec::new() }
    }
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { items: Arc::clone(&self.items), left: self.left.clone() }
    }
}

impl<T: Record + Sync> Source for Collection<T> {
    type Out = T;
    type Split = (u64, u64);

    const REDISTRIBUTION: Redistribution = Redistribution::Union;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<Range>, ConnectorError> {
        Ok(vec![(0, self.items.len() as u64)])
    }

    fn check(
        &mut self,
        _: &SourceContext,
        splits: Vec<Range>,
        _allow_dropped: bool,
    ) -> Result<Vec<Range>, ConnectorError> {
        within("collection", self.items.len() as u64, splits)
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<Range>) -> Result<(), ConnectorError> {
        self.left = ranges::cut(splits, cx.subtask, cx.parallelism);
        // Last one first: ranges are taken from the end.
        self.left.reverse();
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<T>) -> Result<Poll, ConnectorError> {
        let Some((start, end)) = self.left.last_mut() else { return Ok(Poll::Done) };
        let from = *start;
        let to = (*end).min(from.saturating_add(BATCH));
        for item in &self.items[from as usize..to as usize] {
            out.emit(item.view());
            *start += 1;
            if out.is_full() {
                break;
            }
        }
        if start == end {
            self.left.pop();
        }
        Ok(if self.left.is_empty() { Poll::Done } else { Poll::More })
    }

    fn snapshot(&mut self) -> Result<Vec<Range>, ConnectorError> {
        Ok(self.left.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::testing::{Collected, Scene};
    use crate::error::Class;

    #[test]
    fn sr10_a_restored_collection_goes_on_behind_the_last_record() {
        let texts: Vec<String> = (0..3000).map(|i| i.to_string()).collect();
        let scene = Scene::new(2);
        let mut out = Collected::<String>::default();
        let mut state = Vec::new();
        for subtask in 0..2 {
            let mut source = Collection::new(texts.clone());
            let splits = source.discover(&scene.context(0)).unwrap();
            source.open(scene.context(subtask), splits).unwrap();
            assert_eq!(source.poll(&mut out).unwrap(), Poll::More);
            state.extend(source.snapshot().unwrap());
        }
        assert_eq!(out.records.len(), 2048);
        let mut source = Collection::new(texts.clone());
        source.open(Scene::new(1).context(0), state).unwrap();
        while source.poll(&mut out).unwrap() != Poll::Done {}
        out.records.sort_by_key(|text| text.parse::<u64>().unwrap());
        assert_eq!(out.records, texts);
    }

    #[test]
    fn a_checkpoint_of_a_longer_collection_is_refused() {
        let mut source = Collection::new(vec![1u64, 2]);
        let error = source.check(&Scene::new(1).context(0), vec![(0, 3)], false).unwrap_err();
        assert_eq!(error.class, Class::Refuse);
    }
}
