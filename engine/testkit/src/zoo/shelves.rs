//! A source of several splits that stops and goes.

use millstream::source::{Poll, Redistribution, Source, SourceContext};
use millstream::{Clock, ConnectorError, Emit};
use std::sync::Arc;
use std::time::Duration;

/// Emits each number below `count` once, from shelves of different lengths, a few at a time and with pauses.
#[derive(Clone)]
pub struct Shelves {
    count: u64,
    clock: Option<Arc<dyn Clock>>,
    left: Vec<(u64, u64)>,
    polls: u64,
    next: Duration,
}

/// A split is a shelf: what is left of its numbers.
const SHELVES: u64 = 5;

const PAUSE: Duration = Duration::from_millis(2);

impl Shelves {
    /// Numbers from 0 to below `count`.
    pub fn new(count: u64) -> Self {
        Self { count, clock: None, left: Vec::new(), polls: 0, next: Duration::ZERO }
    }
}

impl Source for Shelves {
    type Out = u64;
    type Split = (u64, u64);

    const REDISTRIBUTION: Redistribution = Redistribution::EvenSplit;

    fn discover(&mut self, cx: &SourceContext) -> Result<Vec<(u64, u64)>, ConnectorError> {
        let _ = cx;
        // The first shelf is empty, each further one longer than the one before.
        let border = |shelf: u64| self.count * shelf * shelf / (SHELVES * SHELVES);
        Ok((0..=SHELVES).map(|shelf| (border(shelf.saturating_sub(1)), border(shelf))).collect())
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<(u64, u64)>) -> Result<(), ConnectorError> {
        self.clock = Some(cx.clock);
        self.left = splits;
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<u64>) -> Result<Poll, ConnectorError> {
        let Some(clock) = &self.clock else { return Ok(Poll::Done) };
        let Some((at, end)) = self.left.last_mut() else { return Ok(Poll::Done) };
        if clock.now() < self.next {
            return Ok(Poll::Idle(Some(self.next)));
        }
        self.polls += 1;
        for _ in 0..self.polls % 5 {
            if *at < *end && !out.is_full() {
                out.emit(*at);
                *at += 1;
            }
        }
        if *at == *end {
            self.left.pop();
        }
        if self.polls.is_multiple_of(3) {
            self.next = clock.now() + PAUSE;
        }
        Ok(Poll::More)
    }

    fn snapshot(&mut self) -> Result<Vec<(u64, u64)>, ConnectorError> {
        Ok(self.left.clone())
    }
}
