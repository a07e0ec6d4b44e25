//! Savepoints of either form, of state of either backend, into either backend.

use super::*;
use crate::checkpoint_store::{load, verify};
use crate::descriptor::{Backend, IN_FLIGHT, Layout, StateDescriptor};
use crate::error::StateError;
use crate::metadata::{KeyedHandle, Metadata, OperatorState, SnapshotFormat, SnapshotKind, SubtaskState};
use crate::snapshot::{
    Destination, ListSnapshot, OperatorSnapshot, SnapshotReader, SubtaskSnapshot, WriteOptions, write,
};
use crate::testing::{Sample, list, sample, value_state};
use crate::{
    HeapOrdered, HeapState, KeyedBackend, OperatorId, OrderedBackend, PagedOrdered, PagedState, Parallelism,
    Snapshots,
};
use millstream_io::executor::{Executor, InlineExecutor, RayonExecutor};
use millstream_io::record::{Key, Record};
use millstream_io::source::Redistribution;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) const CHECKPOINT: &str = "/c/job/chk-7";
pub(crate) const SAVEPOINT: &str = "/s/savepoint-1";
const MAX: u32 = 16;
const SMALL_FILES: WriteOptions = WriteOptions { inline_threshold: 100, write_buffer: 4096 };

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// A state on any backend.
#[expect(clippy::large_enum_variant, reason = "a test has one or two")]
enum Kept<K: Key, V: Record + Default> {
    Heap(HeapState<K, V>),
    Paged(PagedState<K, V>),
}

impl<K: Key, V: Record + Default> Kept<K, V> {
    fn new(backend: Backend, of: Parallelism, subtask: usize) -> Self {
        let range = of.range_of(subtask);
        match backend {
            Backend::Hashmap => Self::Heap(HeapState::new(range, of.max())),
            _ => Self::Paged(PagedState::new(range, of.max()).unwrap().small_up_to(1000)),
        }
    }

    fn set(&mut self, key: &K, value: Option<V>) {
        let (hash, view) = (K::hash(key.view()), key.view());
        let change = |mut entry: crate::Entry<'_, V>| match value {
            Some(value) => *entry = value,
            None => entry.clear(),
        };
        match self {
            Self::Heap(state) => state.with(hash, view, change),
            Self::Paged(state) => state.with(hash, view, change),
        }
    }

    fn content(&mut self) -> Content {
        let mut all = Content::new();
        let see = |key: K::Ref<'_>, value: &mut V| {
            assert_eq!(all.insert(K::encode(key), V::encode(value.view())), None);
        };
        match self {
            Self::Heap(state) => state.for_each(see),
            Self::Paged(state) => state.for_each(see),
        }
        all
    }

    fn snapshots(&mut self) -> &mut dyn Snapshots {
        match self {
            Self::Heap(state) => state,
            Self::Paged(state) => state,
        }
    }
}

/// A checkpoint of an operator of two subtasks with a keyed state, and of a source with a list.
pub(crate) struct Scene {
    pub storage: MemoryStorage,
    pub metadata: Metadata,
}

impl Scene {
    pub fn new(states: Vec<StateDescriptor>) -> Self {
        let storage = MemoryStorage::new();
        for dir in [CHECKPOINT, "/c/job/shared", "/s"] {
            storage.create_dir_all(Path::new(dir)).unwrap();
        }
        let mut metadata = sample();
        metadata.files.clear();
        let operator = &mut metadata.operators[1];
        operator.max_parallelism = MAX;
        operator.states = states;
        operator.lists = vec![list("pending", Redistribution::EvenSplit)];
        operator.subtasks = vec![SubtaskState::default(); 2];
        Self { storage, metadata }
    }

    pub fn operator(&mut self) -> &mut OperatorState {
        &mut self.metadata.operators[1]
    }

    /// Writes a part of a state of a subtask.
    pub fn write(&mut self, subtask: usize, nth: u16, state: &mut dyn Snapshots) {
        state.freeze();
        while !state.drain(usize::MAX) {}
        let mut chunks = Vec::new();
        while let Some(chunk) = state.take_chunk() {
            chunks.push(chunk);
        }
        let keyed = crate::testing::joined(&chunks, state.take_snapshot());
        let mut pending = ListSnapshot::new(0);
        pending.push(format!("of {subtask}").as_bytes());
        let operator = OperatorSnapshot {
            id: OperatorId::from_bits(7),
            finished: false,
            keyed: vec![(nth, keyed)],
            lists: vec![pending],
        };
        let name = format!("{subtask}-{nth}-{}", self.metadata.files.len());
        let to = Destination { dir: Path::new(CHECKPOINT), name: &name, shared: &name };
        let written =
            write(&self.storage, to, SubtaskSnapshot { operators: vec![operator] }, SMALL_FILES).unwrap();
        self.metadata.files.extend(written.files);
        for (_, state) in written.operators {
            let subtask = &mut self.operator().subtasks[subtask];
            subtask.keyed.extend(state.keyed);
            subtask.lists = state.lists;
        }
    }

    fn origin(&self) -> Origin {
        Origin { dir: CHECKPOINT.into(), metadata: Arc::new(self.metadata.clone()) }
    }

    pub fn save(&self, form: SnapshotFormat, executor: &dyn Executor) -> Result<Metadata, StateError> {
        let storage = Arc::new(self.storage.clone());
        save(storage, self.origin(), form, Path::new(SAVEPOINT), SMALL_FILES, executor)
    }

    /// What a state holds that is restored from the savepoint into each of so many subtasks.
    fn restored<K: Key, V: Record + Default>(&self, dir: &str, backend: Backend, subtasks: i64) -> Content {
        let metadata = load(&self.storage, Path::new(dir)).unwrap();
        let of = Parallelism::new(subtasks, Some(MAX.into())).unwrap();
        let mut all = Content::new();
        for subtask in 0..of.subtasks() {
            let mut state = Kept::<K, V>::new(backend, of, subtask);
            let handles = metadata.operators[1].subtasks.iter().flat_map(|old| &old.keyed);
            let own: Vec<KeyedHandle> =
                handles.filter_map(|handle| handle.narrowed(of.range_of(subtask))).collect();
            let reader = SnapshotReader::new(Arc::new(self.storage.clone()), dir.into());
            match &mut state {
                Kept::Heap(state) => reader.restore(&own.iter().collect::<Vec<_>>(), state, &|_, _| {}),
                Kept::Paged(state) => reader.restore(&own.iter().collect::<Vec<_>>(), state, &|_, _| {}),
            }
            .unwrap();
            state.snapshots().restored().unwrap();
            for (key, value) in state.content() {
                assert_eq!(all.insert(key, value), None);
            }
            // A first snapshot of its own has everything, whatever it was restored from.
            assert!(
                metadata.operators[1].states[0].backend != Backend::Canonical
                    || !state.snapshots().build_on_restored()
            );
        }
        all
    }
}

/// A scene with one state, whose last parts are changes where the backend has such; and what is in it.
pub(crate) fn scene<K: Sample + Key, V: Sample + Default>(backend: Backend) -> (Scene, Content) {
    let descriptor =
        StateDescriptor { key: K::schema(), value: V::schema(), backend, ..value_state("sum", "u64", "u64") };
    let mut scene = Scene::new(vec![descriptor]);
    let of = Parallelism::new(2, Some(MAX.into())).unwrap();
    let mut model = Content::new();
    for subtask in 0..2 {
        let mut state = Kept::<K, V>::new(backend, of, subtask);
        for round in 0..3u64 {
            for n in 0..1500 {
                let key = K::sample(n * (round + 1) % 1200);
                let group = of.grouping().group(K::hash(key.view()));
                if of.subtask_of(group) != subtask {
                    continue;
                }
                let value = (n % 7 != round).then(|| V::sample(n + round));
                match &value {
                    Some(value) => drop(model.insert(K::encode(key.view()), V::encode(value.view()))),
                    None => drop(model.remove(&K::encode(key.view()))),
                }
                state.set(&key, value);
            }
            if backend == Backend::Hashmap && round < 2 {
                continue;
            }
            scene.write(subtask, 0, state.snapshots());
        }
    }
    (scene, model)
}

fn everywhere_the_same<K: Sample + Key, V: Sample + Default>() {
    const BACKENDS: [Backend; 2] = [Backend::Hashmap, Backend::Paged];
    let threads = RayonExecutor::new(3).unwrap();
    let mut canonical = Vec::new();
    for from in BACKENDS {
        let (scene, model) = scene::<K, V>(from);
        let native = scene.save(SnapshotFormat::Native, &InlineExecutor).unwrap();
        assert_eq!((native.kind, native.format), (SnapshotKind::Savepoint, SnapshotFormat::Native));
        assert!(native.operators[1].subtasks.iter().all(|subtask| subtask.keyed.len() == 1), "merged");
        assert!(scene.restored::<K, V>(SAVEPOINT, from, 3) == model, "native, {from}");
        dispose(&scene.storage, Path::new(SAVEPOINT)).unwrap();

        let saved = scene.save(SnapshotFormat::Canonical, &threads).unwrap();
        assert_eq!(verify(&scene.storage, Path::new(SAVEPOINT)).unwrap(), saved);
        for into in BACKENDS {
            for subtasks in [1, 2, 5] {
                assert!(scene.restored::<K, V>(SAVEPOINT, into, subtasks) == model, "{from} to {into}");
            }
        }
        // Files and all are the same, whatever kept the state.
        let names = saved
            .files
            .iter()
            .map(|file| read_all(&scene.storage, &Path::new(SAVEPOINT).join(&*file.name)).unwrap());
        canonical.push(names.collect::<Vec<_>>());
    }
    assert!(canonical[0] == canonical[1] && !canonical[0].is_empty());
}

#[test]
fn sp_03_words_go_from_any_backend_to_any() {
    everywhere_the_same::<u64, u64>();
}

#[test]
fn sp_03_slots_go_from_any_backend_to_any() {
    everywhere_the_same::<(u64, u64), u64>();
}

#[test]
fn sp_03_records_go_from_any_backend_to_any() {
    everywhere_the_same::<String, String>();
}

/// Ordered state: maps, lists, timers and all else that keyed functions have. Types do not count.
#[test]
fn sp_03_ordered_state_goes_from_any_backend_to_any() {
    let of = Parallelism::new(1, Some(MAX.into())).unwrap();
    let whole = of.range_of(0);
    let mut files = Vec::new();
    for from in [Backend::Hashmap, Backend::Paged] {
        let descriptor = StateDescriptor {
            layout: Layout::Ordered,
            backend: from,
            ..value_state("map", "of no known type", "u64")
        };
        let mut scene = Scene::new(vec![descriptor]);
        scene.operator().subtasks.truncate(1);
        let (mut heap, mut paged) = (HeapOrdered::new(whole), PagedOrdered::new(whole).small_up_to(0));
        let mut model = BTreeMap::new();
        for n in 0..3000usize {
            let (group, key) = (crate::KeyGroup(n as u16 % 16), format!("{n}").into_bytes());
            let value = vec![n as u8; if n % 50 == 7 { 3000 } else { n % 30 }];
            heap.put(group, &key, &value).unwrap();
            paged.put(group, &key, &value).unwrap();
            model.insert((group, key), value);
        }
        match from {
            Backend::Hashmap => scene.write(0, 0, &mut heap),
            _ => scene.write(0, 0, &mut paged),
        }
        let saved = scene.save(SnapshotFormat::Canonical, &InlineExecutor).unwrap();
        files.push(read_all(&scene.storage, &Path::new(SAVEPOINT).join(&*saved.files[0].name)).unwrap());
        let (mut heap, mut paged) = (HeapOrdered::new(whole), PagedOrdered::new(whole).small_up_to(1000));
        let reader = SnapshotReader::new(Arc::new(scene.storage.clone()), SAVEPOINT.into());
        let parts: Vec<_> = saved.operators[1].subtasks[0].keyed.iter().collect();
        reader.restore(&parts, &mut heap, &|_, _| {}).unwrap();
        reader.restore(&parts, &mut paged, &|_, _| {}).unwrap();
        heap.restored().unwrap();
        paged.restored().unwrap();
        assert_eq!((heap.len(), paged.len()), (model.len(), model.len()));
        assert!(!paged.build_on_restored());
        for ((group, key), value) in &model {
            assert_eq!(heap.get(*group, key), Some(&value[..]));
            assert_eq!(paged.get(*group, key), Some(&value[..]));
        }
    }
    assert!(files[0] == files[1]);
}

/// SP-02, UC-10: what a savepoint needs is in its directory, which may be moved; lists are in it too.
#[test]
fn sp_02_a_savepoint_is_whole_wherever_it_is() {
    for form in [SnapshotFormat::Canonical, SnapshotFormat::Native] {
        let (scene, model) = scene::<u64, u64>(Backend::Paged);
        let saved = scene.save(form, &InlineExecutor).unwrap();
        assert!(saved.files.iter().all(|file| !file.name.contains('/')), "{form}");
        assert_eq!(saved.operators[0], scene.metadata.operators[0], "few bytes stay in the metadata");
        scene.storage.create_dir_all(Path::new("/elsewhere/mine")).unwrap();
        for entry in scene.storage.list(Path::new(SAVEPOINT)).unwrap() {
            let (from, to) =
                (Path::new(SAVEPOINT).join(&entry.name), Path::new("/elsewhere/mine").join(&entry.name));
            scene.storage.rename(&from, &to).unwrap();
        }
        millstream_io::storage::remove_tree(&scene.storage, Path::new("/c")).unwrap();
        assert!(scene.restored::<u64, u64>("/elsewhere/mine", Backend::Paged, 2) == model, "{form}");
        let mut reader = SnapshotReader::new(Arc::new(scene.storage.clone()), "/elsewhere/mine".into());
        for (n, subtask) in saved.operators[1].subtasks.iter().enumerate() {
            assert_eq!(reader.encoded_list(&subtask.lists[0]).unwrap(), [format!("of {n}").into_bytes()]);
        }
    }
}

/// SP-04, CS-07: whatever fails, there is no savepoint and no directory; and the snapshot is as it was.
#[test]
fn sp_04_a_savepoint_that_fails_leaves_nothing() {
    let (scene, _) = scene::<u64, u64>(Backend::Paged);
    let before = |storage: &dyn Storage| {
        let files = scene
            .metadata
            .files
            .iter()
            .map(|file| crate::layout::data_file(Path::new(CHECKPOINT), &file.name));
        files.map(|path| read_all(storage, &path).unwrap()).collect::<Vec<_>>()
    };
    let original = before(&scene.storage);
    for form in [SnapshotFormat::Canonical, SnapshotFormat::Native] {
        for op in [Op::Create, Op::Append, Op::Sync, Op::SyncDir, Op::Publish, Op::Open, Op::Read] {
            for nth in 0..3 {
                let faulty = FaultStorage::new(Arc::new(scene.storage.clone()));
                faulty.fail_nth(op, nth, Fault::Before(5));
                let saved = save(
                    Arc::new(faulty),
                    scene.origin(),
                    form,
                    Path::new(SAVEPOINT),
                    SMALL_FILES,
                    &InlineExecutor,
                );
                if saved.is_ok() {
                    dispose(&scene.storage, Path::new(SAVEPOINT)).unwrap();
                    continue;
                }
                assert!(scene.storage.list(Path::new("/s")).unwrap().is_empty(), "{form} {op:?} {nth}");
                assert!(before(&scene.storage) == original);
            }
        }
    }
}

#[test]
fn sp_07_a_savepoint_is_disposed_of_once_and_a_checkpoint_never() {
    let (scene, _) = scene::<u64, u64>(Backend::Hashmap);
    scene.save(SnapshotFormat::Native, &InlineExecutor).unwrap();
    let again = scene.save(SnapshotFormat::Native, &InlineExecutor).unwrap_err();
    assert!(matches!(again, StateError::Savepoint(SavepointFault::Exists { .. })), "{again}");
    dispose(&scene.storage, &Path::new(SAVEPOINT).join("_metadata")).unwrap();
    assert!(scene.storage.list(Path::new("/s")).unwrap().is_empty());
    let gone = dispose(&scene.storage, Path::new(SAVEPOINT)).unwrap_err();
    assert!(matches!(gone, StateError::NoSnapshot { .. }), "ER-05: {gone}");
    let bytes = scene.metadata.encode().unwrap();
    scene.storage.publish(&Path::new(CHECKPOINT).join("_metadata"), &bytes).unwrap();
    let checkpoint = dispose(&scene.storage, Path::new(CHECKPOINT)).unwrap_err();
    assert!(matches!(checkpoint, StateError::Savepoint(SavepointFault::Checkpoint { .. })), "{checkpoint}");
    assert!(load(&scene.storage, Path::new(CHECKPOINT)).is_ok());
}

/// What no savepoint can be made of is refused before anything is created.
#[test]
fn fq_02_what_a_form_cannot_have_is_refused() {
    let refused = |scene: &Scene, form| match scene.save(form, &InlineExecutor) {
        Err(StateError::Savepoint(fault)) => {
            assert!(scene.storage.list(Path::new("/s")).unwrap().is_empty());
            fault
        }
        other => panic!("{other:?}"),
    };
    let (mut flying, _) = scene::<u64, u64>(Backend::Hashmap);
    flying.operator().lists[0].name = IN_FLIGHT.to_owned();
    for form in [SnapshotFormat::Canonical, SnapshotFormat::Native] {
        assert!(
            matches!(refused(&flying, form), SavepointFault::InFlight { operators, .. } if operators.len() == 1)
        );
    }
    let (mut strange, _) = scene::<u64, u64>(Backend::Hashmap);
    strange.operator().states[0].value = crate::testing::schema("uuid");
    let fault = refused(&strange, SnapshotFormat::Canonical);
    assert!(
        fault.parts().to_string().contains("\"sum\"") && fault.parts().cause.contains("uuid"),
        "{fault:?}"
    );
    let own = crate::descriptor::BackendName::new("lsm").unwrap();
    strange.operator().states[0].backend = Backend::Own(own);
    assert!(
        matches!(refused(&strange, SnapshotFormat::Canonical), SavepointFault::Own { backend, .. } if backend == own)
    );
    strange.save(SnapshotFormat::Native, &InlineExecutor).unwrap();
}

/// ER-22, MS-073: a part of the snapshot that is damaged, or is not what it should be, is named.
#[test]
fn er_22_damage_in_the_snapshot_is_named() {
    for backend in [Backend::Hashmap, Backend::Paged] {
        let (scene, _) = scene::<u64, u64>(backend);
        let file = crate::layout::data_file(Path::new(CHECKPOINT), &scene.metadata.files[0].name);
        let whole = read_all(&scene.storage, &file).unwrap();
        let mut bytes = whole.clone();
        bytes[10] ^= 1;
        scene.storage.publish(&file, &bytes).unwrap();
        for form in [SnapshotFormat::Canonical, SnapshotFormat::Native] {
            let error = scene.save(form, &InlineExecutor).unwrap_err();
            assert!(matches!(&error, StateError::Damaged { path, .. } if *path == file), "{error}");
        }
        scene.storage.remove(&file).unwrap();
        let error = scene.save(SnapshotFormat::Canonical, &InlineExecutor).unwrap_err();
        assert!(matches!(&error, StateError::DataFile { .. }), "{error}");
    }
}
