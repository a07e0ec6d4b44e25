//! MS-073: fields of a checkpoint of pages that hold what none can, with checksums that are right.

use crate::counting::Counts;
use crate::hand::{Hand, env};
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::Generator;
use millstream_io::scratch::{MemoryScratch, Supply};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::layout::data_file;
use millstream_state::metadata::{Handle, KeyedHandle, METADATA_FILE, Metadata};
use millstream_state::snapshot::SnapshotReader;
use millstream_state::{PagedState, Parallelism, Snapshots};
use millstream_tests::CountSink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Key groups, of which each has some pages.
const GROUPS: u32 = 2;

const KEYS: u64 = 6_000;

/// What an error may have to say.
const TEXT: u64 = 4 << 10;

/// Bytes around the body of a metadata file.
const HEADER: usize = 24;
const TRAILER: usize = 4;

/// A checkpoint of a count of [`KEYS`] keys in pages.
struct Checkpoint {
    dir: PathBuf,
    metadata: Vec<u8>,
    /// The file that the pages are in, and its content.
    path: PathBuf,
    pages: Vec<u8>,
}

impl Checkpoint {
    fn take() -> Self {
        let env = env();
        env.configure(|settings| {
            settings.pipeline.parallelism = 1;
            settings.pipeline.max_parallelism = Some(GROUPS);
            settings.state.backend = StateBackend::Paged;
            settings.state.paged_small_state = ByteSize(0);
            settings.checkpointing.data_inline_threshold = ByteSize(0);
        });
        // It never ends, or the checkpoint would go with the job.
        env.source(Generator::new(u64::MAX, |i| i))
            .name("in")
            .key_by::<u64>(|n| n.get() % KEYS)
            .process::<u64, u64>("count", |_, _, count, _| *count += 1)
            .sink(CountSink::new(|n| *n));
        let disk = MemoryStorage::new();
        let mut hand = Hand::begin(&env, &disk);
        let step = |hand: &mut Hand| {
            hand.step("in");
            hand.run("process");
        };
        while hand.control.metrics().records_in < 2 * KEYS {
            step(&mut hand);
        }
        hand.trigger();
        while hand.completed().is_none() {
            step(&mut hand);
            hand.work();
            hand.turn();
        }
        drop(hand);
        let job = disk.list(Path::new("/ck")).unwrap().into_iter().next().unwrap();
        let dir = Path::new("/ck").join(job.name).join("chk-1");
        let metadata = read_all(&disk, &dir.join(METADATA_FILE)).unwrap();
        let file = Metadata::parse(&metadata).unwrap().files.into_iter().find(|f| f.name.contains("shared"));
        let path = data_file(&dir, &file.unwrap().name);
        let pages = read_all(&disk, &path).unwrap();
        Self { dir, metadata, path, pages }
    }

    /// Reads a checkpoint like this, with that metadata and these pages. Whatever comes of it, but for a panic; and the most
    /// memory that was asked for meanwhile.
    fn read(&self, counts: &Counts, metadata: &[u8], pages: &[u8]) -> (Result<usize, String>, u64) {
        let disk = MemoryStorage::new();
        disk.create_dir_all(self.path.parent().unwrap()).unwrap();
        let mut file = disk.create(&self.path).unwrap();
        file.append(pages).unwrap();
        drop(file);
        let scratch = Arc::new(MemoryScratch::new());
        let supply = Supply { scratch: scratch.clone(), executor: None };
        let storage: Arc<dyn Storage> = Arc::new(disk);
        let (read, peak) = counts.peak(|| {
            let read = restore(storage, &self.dir, metadata, supply);
            // Pages are given back with the state.
            read.map(|(keys, _state)| (keys, scratch.used()))
        });
        match read {
            Ok((keys, pages)) => (Ok(keys), peak + pages),
            Err(error) => (Err(error), peak),
        }
    }

    /// No value of that many bytes at any of these places asks for more memory than the checkpoint as it is, or twice as much as
    /// its files have. Returns how many were refused.
    fn sweep(
        &self,
        counts: &Counts,
        places: std::ops::Range<usize>,
        change: impl Fn(usize, &[u8]) -> (Vec<u8>, Vec<u8>),
    ) -> usize {
        let (whole, least) = self.read(counts, &self.metadata, &self.pages);
        assert_eq!(whole, Ok(KEYS as usize));
        let most = least.max(2 * (self.metadata.len() + self.pages.len()) as u64) + TEXT;
        let mut refused = 0;
        for at in places {
            for width in [1, 2, 4, 8] {
                for value in [0, u64::MAX, u64::MAX - 1] {
                    let (metadata, pages) = change(at, &value.to_le_bytes()[..width]);
                    let (read, peak) = self.read(counts, &metadata, &pages);
                    assert!(peak <= most, "{width} bytes at {at} set to {value:#x}: {peak} bytes of memory");
                    refused += usize::from(read.is_err());
                }
            }
        }
        refused
    }
}

/// Restores the keyed state of a checkpoint of this metadata.
fn restore(
    storage: Arc<dyn Storage>,
    dir: &Path,
    metadata: &[u8],
    supply: Supply,
) -> Result<(usize, PagedState<u64, u64>), String> {
    let metadata = Metadata::parse(metadata).map_err(|error| error.to_string())?;
    let whole = Parallelism::new(1, Some(i64::from(GROUPS))).unwrap();
    let state = PagedState::new_in(whole.range_of(0), whole.max(), supply);
    let mut state = state.map_err(|error| error.to_string())?.small_up_to(0);
    let subtasks = metadata.operators.iter().flat_map(|operator| &operator.subtasks);
    let parts: Vec<_> = subtasks.flat_map(|subtask| &subtask.keyed).collect();
    let reader = SnapshotReader::new(storage, dir.to_owned());
    reader.restore(&parts, &mut state, &|_, _| {}).map_err(|error| error.to_string())?;
    state.restored().map_err(|error| error.to_string())?;
    let keys = millstream_state::KeyedBackend::len(&state);
    Ok((keys, state))
}

#[test]
fn ms_073_no_field_of_the_metadata_of_pages_asks_for_memory() {
    let counts = Counts::take();
    let checkpoint = Checkpoint::take();
    let body = HEADER..checkpoint.metadata.len() - TRAILER - 8;
    let refused = checkpoint.sweep(&counts, body.clone(), |at, value| {
        let mut metadata = checkpoint.metadata.clone();
        metadata[at..at + value.len()].copy_from_slice(value);
        let end = metadata.len() - TRAILER;
        let crc = crc32fast::hash(&metadata[HEADER..end]);
        metadata[end..].copy_from_slice(&crc.to_le_bytes());
        (metadata, checkpoint.pages.clone())
    });
    assert!(refused > body.len() * 3, "{refused} of {} places", body.len());
    // The length of the body, in the header.
    let refused = checkpoint.sweep(&counts, 8..HEADER - TRAILER - 7, |at, value| {
        let mut metadata = checkpoint.metadata.clone();
        metadata[at..at + value.len()].copy_from_slice(value);
        let crc = crc32fast::hash(&metadata[..20]);
        metadata[20..HEADER].copy_from_slice(&crc.to_le_bytes());
        (metadata, checkpoint.pages.clone())
    });
    assert!(refused > 40, "{refused}");
}

/// What a part of pages has of fields: the form, page numbers, masks, and the heads of buckets.
#[test]
fn ms_073_no_field_of_pages_asks_for_memory() {
    let counts = Counts::take();
    let checkpoint = Checkpoint::take();
    let metadata = Metadata::parse(&checkpoint.metadata).unwrap();
    let part = |metadata: &Metadata| -> KeyedHandle {
        metadata.operators.iter().flat_map(|o| &o.subtasks).find_map(|s| s.keyed.first().cloned()).unwrap()
    };
    let Handle::File { offset, .. } = part(&metadata).data else { panic!("pages are in a file") };
    let range = part(&metadata).groups[0];
    let begin = (offset + range.offset) as usize;
    let refused = checkpoint.sweep(&counts, begin..begin + 120, |at, value| {
        let (mut pages, mut metadata) = (checkpoint.pages.clone(), metadata.clone());
        pages[at..at + value.len()].copy_from_slice(value);
        let subtasks = metadata.operators.iter_mut().flat_map(|o| &mut o.subtasks);
        let part = subtasks.flat_map(|subtask| &mut subtask.keyed).next().unwrap();
        part.groups[0].crc = crc32fast::hash(&pages[begin..begin + range.len as usize]);
        (metadata.encode().unwrap(), pages)
    });
    assert!(refused > 50, "{refused}");
}
