//! A subtask's snapshot on its way to disk while the rest of it is still being encoded.
//!
//! The subtask puts chunks into a queue, and behind them all that is left. One piece of background work at a time takes
//! what is in the queue, in order, and goes when there is nothing, or when others should have their turn; whoever puts
//! something into a queue that nobody works on begins the next piece. So nobody ever waits for anybody.

use super::flow::Flow;
use super::largest;
use super::message::{Report, Reporter};
use super::snapshot::Write;
use crate::error::{Error, panic_text};
use millstream_io::error::Class;
use millstream_io::executor::Executor;
use millstream_io::storage::Storage;
use millstream_state::keyed::Chunk;
use millstream_state::layout::data_file;
use millstream_state::metadata::SHARED_FILE;
use millstream_state::snapshot::{
    Destination, StateId, SubtaskSnapshot, WriteOptions, Writing, WrittenSnapshot,
};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// Chunks that are written before others get a turn.
const PIECE: usize = 16;

/// The subtask's end of it.
pub(super) struct Stream(Arc<Lane>);

/// Where a snapshot is written.
pub(super) struct Place {
    pub storage: Arc<dyn Storage>,
    /// The directory of its checkpoint.
    pub dir: PathBuf,
    /// The name of its file there, and of the one among the shared files.
    pub name: String,
    pub shared: String,
    pub options: WriteOptions,
    pub largest_state: Option<u64>,
}

struct Lane {
    queue: Mutex<Queue>,
    /// What was written; nothing before the first chunk comes.
    writing: Mutex<Option<Outcome<Writing>>>,
    place: Place,
    /// Not its own: what waits there has the lane.
    executor: Weak<dyn Executor>,
    flow: Arc<Flow>,
    reporter: Reporter,
}

type Outcome<T> = Result<T, Error>;

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Somebody works on it.
    busy: bool,
}

enum Item {
    Chunk(StateId, Chunk),
    /// The rest. Nothing comes behind it.
    Last(Box<Write>),
}

impl Stream {
    pub fn new(place: Place, executor: &Arc<dyn Executor>, flow: Arc<Flow>, reporter: Reporter) -> Self {
        let executor = Arc::downgrade(executor);
        let (queue, writing) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Lane { queue, writing, place, executor, flow, reporter }))
    }

    /// Hands over what comes next of a state.
    pub fn chunk(&self, state: StateId, chunk: Chunk) {
        self.0.flow.add(chunk.bytes.len());
        self.0.put(Item::Chunk(state, chunk));
    }

    /// Hands over all that is left.
    pub fn finish(self, rest: Write) {
        self.0.put(Item::Last(Box::new(rest)));
    }
}

impl Lane {
    fn put(self: &Arc<Self>, item: Item) {
        let mut queue = self.queue.lock();
        queue.items.push_back(item);
        let busy = std::mem::replace(&mut queue.busy, true);
        drop(queue);
        if !busy {
            self.spawn();
        }
    }

    fn spawn(self: &Arc<Self>) {
        if let Some(executor) = self.executor.upgrade() {
            let lane = self.clone();
            executor.spawn(Box::new(move || lane.work()));
        }
    }

    fn next(&self) -> Option<Item> {
        let mut queue = self.queue.lock();
        let item = queue.items.pop_front();
        queue.busy = item.is_some();
        item
    }

    fn work(self: Arc<Self>) {
        for _ in 0..PIECE {
            match self.next() {
                Some(Item::Chunk(state, chunk)) => self.add(state, chunk),
                Some(Item::Last(rest)) => return self.finish(*rest),
                None => return,
            }
        }
        self.spawn();
    }

    fn add(&self, state: StateId, chunk: Chunk) {
        let mut writing = self.writing.lock();
        if let Ok(under_way) = writing.get_or_insert_with(|| Ok(self.begin())) {
            let storage = &*self.place.storage;
            let added = catch_unwind(AssertUnwindSafe(|| under_way.add(storage, state, &chunk)));
            let failed = match added {
                Ok(added) => added.err().map(Error::from),
                Err(panic) => Some(self.panicked(&*panic)),
            };
            if let Some(error) = failed {
                // What comes behind it is of no use, and the file may be in the way of others.
                *writing = Some(Err(error));
                self.remove();
            }
        }
        self.flow.arrived(chunk.bytes);
    }

    fn finish(&self, rest: Write) {
        let under_way = self.writing.lock().take();
        // A sink's work may panic, and the executor says nothing of that.
        let done = catch_unwind(AssertUnwindSafe(|| {
            rest.run(|snapshot| {
                let outcome = snapshot.and_then(|snapshot| self.write(under_way, snapshot));
                if outcome.is_err() {
                    self.remove();
                }
                outcome
            });
        }));
        if let Err(panic) = done {
            self.panicked(&*panic);
        }
    }

    fn write(&self, under_way: Option<Outcome<Writing>>, rest: SubtaskSnapshot) -> Outcome<WrittenSnapshot> {
        let writing = under_way.unwrap_or_else(|| Ok(self.begin()))?;
        let written = writing.finish(&*self.place.storage, rest)?;
        self.place.largest_state.map_or(Ok(()), |most| largest::check(&written, most))?;
        Ok(written)
    }

    fn begin(&self) -> Writing {
        let Place { dir, name, shared, options, .. } = &self.place;
        Writing::new(Destination { dir, name, shared }, *options)
    }

    /// The checkpoint's directory goes with it; a torn file among the shared ones would stay, and on a full disk be in the way of
    /// the next one.
    fn remove(&self) {
        let name = format!("{SHARED_FILE}{}", self.place.shared);
        let _ = self.place.storage.remove(&data_file(&self.place.dir, &name));
    }

    /// The attempt fails.
    fn panicked(&self, panic: &(dyn Any + Send)) -> Error {
        let cause = format!("panicked: {}", panic_text(panic));
        let error = |cause| Error::new(Class::Restart, "snapshot", self.place.name.clone(), cause);
        self.reporter.report(Report::Failed(error(cause.clone())));
        error(cause)
    }
}
