//! Where checkpoints are kept.

use millstream::config::CheckpointStorage;
use millstream::connector::{CollectSink, channel};
use millstream::{Class, Env};
use std::fs;
use std::time::Duration;

/// CS-01 in Millstream's form (ruling 7): files where there is a directory, else memory, unless the storage is named.
#[test]
fn cs_01_storage_is_named_or_follows_from_the_directory() {
    for (storage, with_dir, in_files) in [
        (None, true, true),
        (None, false, false),
        (Some(CheckpointStorage::Filesystem), true, true),
        (Some(CheckpointStorage::Memory), true, false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::new();
        env.configure(|settings| {
            settings.checkpointing.interval = Some(Duration::from_secs(600));
            settings.checkpointing.dir = with_dir.then(|| dir.path().to_owned());
            settings.checkpointing.storage = storage;
        });
        let (_sender, source) = channel::<u64>(1);
        env.source(source).sink(CollectSink::new());
        let job = env.start("stored").unwrap();
        let taken = job.checkpoint().unwrap();
        assert_eq!(taken.path.join("_metadata").exists(), in_files, "{storage:?}, directory: {with_dir}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count() > 0, in_files);
        job.cancel().unwrap();
    }
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(Duration::from_secs(600));
        settings.checkpointing.storage = Some(CheckpointStorage::Filesystem);
    });
    let (_sender, source) = channel::<u64>(1);
    env.source(source).sink(CollectSink::new());
    let error = env.start("nowhere").err().unwrap();
    assert_eq!(error.class(), Class::Refuse);
    assert!(error.to_string().contains("execution.checkpointing.dir"), "{error}");
}
