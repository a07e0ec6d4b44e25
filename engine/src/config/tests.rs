use super::*;
use millstream_io::error::{Class, ConnectorError};
use millstream_state::descriptor::BackendName;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn define(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::from_pairs(pairs.iter().copied(), Origin::Define)
}

#[test]
fn ms_082_an_unknown_key_is_refused_with_the_one_that_was_meant() {
    let refused = define(&[("checkpoint_intervall", "10s")]).unwrap_err();
    assert_eq!(refused.problem, Problem::Unknown(Some("execution.checkpointing.interval")));
    let text = refused.to_string();
    assert_eq!(text, "configuration: checkpoint_intervall = 10s (on the command line): no such key");
    assert_eq!(define(&[("colour", "red")]).unwrap_err().problem, Problem::Unknown(None));
}

#[test]
fn ms_082_intervals_are_taken_with_their_meaning_or_refused_by_name() {
    let interval = "execution.checkpointing.interval";
    for value in ["0", "-1s", "10", "1e3ms", "99999999999999d"] {
        let refused = define(&[(interval, value)]).unwrap_err();
        assert_eq!((refused.key.as_str(), refused.value.as_str()), (interval, value));
        assert!(matches!(refused.problem, Problem::Value(_)), "{value}: {refused}");
    }
    for value in ["0ms", "9ms", "9999us"] {
        let refused = define(&[(interval, value)]).unwrap().validate().unwrap_err();
        assert_eq!(
            refused.problem,
            Problem::Value("out of range, allowed is at least 10ms".to_owned()),
            "{value}"
        );
    }
    let config = define(&[(interval, "10 ms")]).unwrap();
    config.validate().unwrap();
    assert_eq!(config.checkpointing.interval, Some(Duration::from_millis(10)));
}

#[test]
fn a_ring_has_a_power_of_two_of_buffers() {
    let with = |n: &str| define(&[("exchange.ring-segments", n)]).unwrap().validate();
    for n in ["2", "4", "4096"] {
        with(n).unwrap();
    }
    for n in ["1", "3", "8192"] {
        let refused = with(n).unwrap_err();
        let limit = "out of range, allowed is a power of two from 2 to 4096";
        assert_eq!(refused.problem, Problem::Value(limit.to_owned()), "{n}");
    }
}

#[test]
fn cf_01_the_stronger_origin_wins_in_whatever_order_they_come() {
    let key = "execution.checkpointing.num-retained";
    let given = [(Origin::File, "2"), (Origin::Code, "3"), (Origin::Define, "4")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut config = Config::new();
        for i in order {
            config.set(key, given[i].1, given[i].0).unwrap();
        }
        assert_eq!(config.checkpointing.num_retained, 4, "{order:?}");
    }
    let mut config = Config::new();
    config.set(key, "3", Origin::Code).unwrap();
    config.set(key, "2", Origin::File).unwrap();
    assert_eq!(config.checkpointing.num_retained, 3);
}

#[test]
fn cf_01_a_weaker_value_that_is_wrong_is_refused_all_the_same() {
    let mut config = define(&[("execution.checkpointing.num-retained", "4")]).unwrap();
    assert!(config.set("execution.checkpointing.num-retained", "many", Origin::File).is_err());
}

#[test]
fn cf_01_a_program_changes_what_the_command_line_left_open() {
    let mut config = define(&[("parallelism.default", "2")]).unwrap();
    config.set("execution.checkpointing.timeout", "20s", Origin::File).unwrap();
    config.edit(|s| {
        s.pipeline.parallelism = 8;
        s.checkpointing.timeout = Duration::from_secs(30);
        s.checkpointing.dir = Some(PathBuf::from("/tmp/here"));
    });
    assert_eq!(config.pipeline.parallelism, 2);
    assert_eq!(config.checkpointing.timeout, Duration::from_secs(30));
    assert_eq!(config.checkpointing.dir.as_deref(), Some(Path::new("/tmp/here")));
    config.set("execution.checkpointing.timeout", "40s", Origin::File).unwrap();
    assert_eq!(config.checkpointing.timeout, Duration::from_secs(30));
}

#[test]
fn cf_01_of_an_old_and_a_new_name_the_new_one_counts() {
    let (old, new) = ("state.checkpoints.num-retained", "execution.checkpointing.num-retained");
    for pairs in [[(old, "2"), (new, "3")], [(new, "3"), (old, "2")]] {
        let config = define(&pairs).unwrap();
        assert_eq!(config.checkpointing.num_retained, 3);
        assert_eq!(config.warnings().len(), 1);
    }
    let config = define(&[(old, "5")]).unwrap();
    assert_eq!((config.checkpointing.num_retained, config.warnings().len()), (5, 0));
}

#[test]
fn cf_01_every_old_name_sets_its_key() {
    for (old, value, new) in [
        ("state.checkpoints.dir", "/ck", "execution.checkpointing.dir"),
        ("state.checkpoint-storage", "jobmanager", "execution.checkpointing.storage"),
        ("state.storage.fs.memory-threshold", "1kb", "execution.checkpointing.data-inline-threshold"),
        ("state.backend.fs.memory-threshold", "1kb", "execution.checkpointing.data-inline-threshold"),
        ("state.storage.fs.write-buffer-size", "8kb", "execution.checkpointing.write-buffer-size"),
        ("execution.savepoint.path", "/sp", "execution.state-recovery.path"),
        (
            "execution.savepoint.ignore-unclaimed-state",
            "true",
            "execution.state-recovery.ignore-unclaimed-state",
        ),
        ("execution.savepoint-restore-mode", "claim", "execution.state-recovery.claim-mode"),
        ("state.backend", "hashmap", "state.backend.type"),
        ("restart-strategy", "none", "restart-strategy.type"),
    ] {
        let config = define(&[(old, value)]).unwrap();
        assert_eq!(config.origin(Key::named(new).unwrap()), Origin::Define, "{old}");
    }
}

#[test]
fn rs_06_names_of_restart_strategies() {
    for (names, kind) in [
        (["none", "off", "disable"].as_slice(), RestartKind::None),
        (&["fixed-delay", "fixeddelay"], RestartKind::FixedDelay),
        (&["failure-rate", "failurerate", "FAILURE_RATE"], RestartKind::FailureRate),
        (&["exponential-delay", "exponentialdelay"], RestartKind::ExponentialDelay),
    ] {
        for name in names {
            let config = define(&[("restart-strategy.type", name)]).unwrap();
            assert_eq!(config.restart.kind, kind, "{name}");
        }
    }
    assert!(define(&[("restart-strategy.type", "sometimes")]).is_err());
    assert_eq!(Config::new().restart.kind, RestartKind::Auto);
}

#[test]
fn be_01_state_backends_go_by_name() {
    let backend = |name: &str| define(&[("state.backend.type", name)]).map(|settings| settings.state.backend);
    for (name, expected) in [
        ("hashmap", StateBackend::Hashmap),
        ("FileSystem", StateBackend::Hashmap),
        ("jobmanager", StateBackend::Hashmap),
        ("paged", StateBackend::Paged),
        ("lsm", StateBackend::Own(BackendName::new("lsm").unwrap())),
    ] {
        assert_eq!(backend(name).unwrap(), expected);
    }
    let refused = backend("a name that is longer than a name may be").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "configuration: state.backend.type = a name that is longer than a name may be (on the command line): expected \
         hashmap | paged | the name of a registered backend"
    );
}

/// Their defaults depend on the machine.
#[test]
fn ruling_24_memory_of_state_and_its_files_are_as_configured_or_as_the_machine_has_it() {
    let default = Settings::default();
    assert_eq!((default.state.paged_memory, default.task.local_dir), (None, None));
    let set = define(&[("state.backend.paged.memory", "64 mb"), ("task.local-dir", "/var/tmp")]).unwrap();
    assert_eq!(set.state.paged_memory, Some(ByteSize::mb(64)));
    assert_eq!(set.task.local_dir.as_deref(), Some(std::path::Path::new("/var/tmp")));
    assert!(define(&[("state.backend.paged.memory", "64")]).is_err());
}

#[test]
fn keys_of_later_work_are_not_taken_for_misspelt() {
    for name in ["execution.checkpointing.snapshot-compression", "execution.checkpointing.savepoint-dir"] {
        assert_eq!(define(&[(name, "true")]).unwrap_err().problem, Problem::NotYet, "{name}");
    }
}

/// Entries that ask for what is done anyway are no reason to refuse a start, as long as nothing else is asked for.
#[test]
fn keys_of_later_work_may_say_that_they_are_off() {
    for (name, off, on) in [
        ("execution.checkpointing.snapshot-compression", "FALSE", "true"),
        ("execution.checkpointing.create-subdir", "true", "false"),
        ("state.changelog.enabled", "false", "true"),
        ("pipeline.auto-generate-uids", "true", "false"),
        ("taskmanager.network.memory.buffer-debloat.enabled", "false", "true"),
    ] {
        assert_eq!(define(&[(name, off)]).unwrap().to_string(), "", "{name}: nothing is set");
        assert_eq!(define(&[(name, on)]).unwrap_err().problem, Problem::NotYet, "{name}");
    }
}

#[test]
fn ms_025_parallelism_is_at_least_one_and_at_most_the_key_groups() {
    for value in ["-1", "", "1.5", "4294967296", "+2"] {
        assert!(define(&[("parallelism.default", value)]).is_err(), "{value}");
    }
    for value in ["0", "32769"] {
        assert!(define(&[("parallelism.default", value)]).unwrap().validate().is_err(), "{value}");
    }
    let config = define(&[("parallelism.default", "129"), ("pipeline.max-parallelism", "128")]).unwrap();
    let refused = config.validate().unwrap_err().to_string();
    assert!(refused.contains("129") && refused.contains("128"), "{refused}");
}

/// UC-01: refused with several at a time, except where these are one all the same (CP-05); at least once it means nothing.
#[test]
fn uc_01_unaligned_checkpoints_are_taken_one_at_a_time() {
    let with = |more: &[(&str, &str)]| {
        let mut all = vec![
            ("execution.checkpointing.unaligned", "true"),
            ("execution.checkpointing.max-concurrent-checkpoints", "2"),
        ];
        all.extend(more);
        define(&all).unwrap().validate()
    };
    let refused = with(&[]).unwrap_err().to_string();
    assert!(
        refused.contains("max-concurrent-checkpoints") && refused.contains("unaligned.enabled"),
        "{refused}"
    );
    with(&[("execution.checkpointing.max-concurrent-checkpoints", "1")]).unwrap();
    with(&[("execution.checkpointing.min-pause", "1s")]).unwrap();
    with(&[("execution.checkpointing.mode", "AT_LEAST_ONCE")]).unwrap();
}

#[test]
fn cl_02_claim_modes_have_their_names() {
    let with = |value: &str| define(&[("execution.state-recovery.claim-mode", value)]);
    for value in ["no-claim", "NO_CLAIM", "no_claim"] {
        assert_eq!(with(value).unwrap().recovery.claim_mode, ClaimMode::NoClaim);
    }
    assert_eq!(with("Claim").unwrap().recovery.claim_mode, ClaimMode::Claim);
    let refused = with("legacy").unwrap_err().to_string();
    assert!(refused.contains("NO_CLAIM | CLAIM"), "{refused}");
}

/// RS-12: accepted, and told what is done in any case; other values are refused.
#[test]
fn rs_12_keys_without_effect_are_accepted_with_a_word() {
    for (name, usual) in [
        ("execution.checkpointing.prefer-checkpoint-for-recovery", "false"),
        ("execution.checkpointing.cleaner.parallel-mode", "true"),
        ("state.backend.async", "TRUE"),
        ("pipeline.object-reuse", "true"),
    ] {
        let config = define(&[(name, usual)]).unwrap();
        assert_eq!((config.warnings(), config.to_string().as_str()), (&[][..], ""), "{name}");
        let other = if usual == "false" { "true" } else { "false" };
        let config = define(&[(name, other)]).unwrap();
        let [word] = config.warnings() else { panic!("{name}: {:?}", config.warnings()) };
        assert!(word.starts_with(&format!("{name} has no effect: ")), "{word}");
        assert!(matches!(define(&[(name, "maybe")]).unwrap_err().problem, Problem::Value(_)), "{name}");
    }
    let word = define(&[("execution.checkpointing.prefer-checkpoint-for-recovery", "true")]).unwrap();
    assert!(word.warnings()[0].contains("the newest completed checkpoint"));
}

/// CP-10: nought, or at least the interval.
#[test]
fn cp_10_the_interval_during_backlog_is_none_or_the_longer_one() {
    let with = |backlog: &str| {
        let key = "execution.checkpointing.interval-during-backlog";
        define(&[("execution.checkpointing.interval", "10s"), (key, backlog)]).unwrap().validate()
    };
    for good in ["none", "0ms", "10s", "1h"] {
        with(good).unwrap();
    }
    for bad in ["9s", "1ms"] {
        let refused = with(bad).unwrap_err().to_string();
        assert!(refused.contains("interval-during-backlog") && refused.contains(bad), "{refused}");
    }
    assert!(with("9s").unwrap_err().to_string().contains("execution.checkpointing.interval, 10s"));
}

/// Not refused, but said: the settings, the words that are in what is said, and one setting more with which there is nothing
/// to say.
#[test]
fn cp_05_settings_that_another_one_overrules_are_told() {
    const CHECKPOINTS: &str = "execution.checkpointing.";
    let overruled = |pairs: &[(&str, &str)]| {
        let full = |key: &str| {
            if key.starts_with("e:") {
                key.replace("e:", "execution.")
            } else {
                format!("{CHECKPOINTS}{key}")
            }
        };
        let pairs: Vec<(String, &str)> = pairs.iter().map(|(key, value)| (full(key), *value)).collect();
        let mut config = Config::from_pairs(pairs, Origin::Define).unwrap();
        config.set("execution.checkpointing.dir", "/c", Origin::Default).unwrap();
        config.validate().unwrap();
        config.overruled()
    };
    assert!(overruled(&[("interval", "1s")]).is_empty());
    for (pairs, words, mended) in [
        (
            &[("max-concurrent-checkpoints", "3"), ("min-pause", "1s")][..],
            ["max-concurrent-checkpoints = 3 has no effect", "min-pause"],
            ("min-pause", "0ms"),
        ),
        (
            &[("interval-during-backlog", "1min")],
            ["interval-during-backlog has no effect", "checkpointing.interval"],
            ("interval", "1s"),
        ),
        (
            &[("unaligned.enabled", "true"), ("mode", "AT_LEAST_ONCE")],
            ["unaligned.enabled has no effect", "AT_LEAST_ONCE"],
            ("mode", "EXACTLY_ONCE"),
        ),
        (
            &[("aligned-checkpoint-timeout", "5s")],
            ["aligned-checkpoint-timeout has no effect", "unaligned.enabled = true"],
            ("unaligned.enabled", "true"),
        ),
        (
            &[("e:state-recovery.claim-mode", "CLAIM")],
            ["claim-mode = CLAIM has no effect", "(-s)"],
            ("e:state-recovery.path", "/c/a/chk-1"),
        ),
        (
            &[("e:state-recovery.from-local", "true"), ("storage", "memory")],
            ["from-local has no effect", "in memory"],
            ("storage", "filesystem"),
        ),
        (
            &[("local-backup.dirs", "/copies")],
            ["local-backup.dirs has no effect", "from-local = true"],
            ("e:state-recovery.from-local", "true"),
        ),
        (
            &[("interval", "1s"), ("storage", "memory")],
            ["storage is memory", "nothing is written to /c"],
            ("storage", "filesystem"),
        ),
    ] {
        let told = overruled(pairs);
        let [one] = &told[..] else { panic!("{pairs:?}: {told:?}") };
        assert!(words.iter().all(|word| one.contains(word)), "{one}");
        let mended: Vec<_> = pairs.iter().copied().chain([mended]).collect();
        assert!(overruled(&mended).is_empty(), "{mended:?}: {:?}", overruled(&mended));
    }
    // The library knows no directory.
    let without = define(&[("execution.checkpointing.interval", "1s")]).unwrap().overruled();
    assert!(
        without.len() == 1 && without[0].contains("execution.checkpointing.dir is not set"),
        "{without:?}"
    );
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for pairs in [
        [("execution.checkpointing.storage", "filesystem"), ("execution.checkpointing.interval", "1s")],
        [("execution.state-recovery.fresh", "true"), ("execution.state-recovery.path", "/x")],
        [
            ("restart-strategy.exponential-delay.initial-backoff", "2min"),
            ("restart-strategy.exponential-delay.max-backoff", "1min"),
        ],
    ] {
        assert!(define(&pairs).unwrap().validate().is_err(), "{pairs:?}");
    }
}

#[test]
fn a_refused_configuration_is_of_the_class_that_refuses_the_start() {
    let refused = ConnectorError::from(define(&[("paralelism.default", "1")]).unwrap_err());
    assert_eq!(refused.class, Class::Refuse);
    assert_eq!(refused.hint.as_deref(), Some("did you mean parallelism.default?"));
}

#[test]
fn every_default_is_within_its_limit_and_reads_back_as_itself() {
    Config::new().validate().unwrap();
    let defaults = Settings::default();
    for key in KEYS {
        let mut settings = Settings::default();
        key.parse(&mut settings, &key.show(&defaults))
            .unwrap_or_else(|cause| panic!("{}: {cause}", key.name));
        assert_eq!(settings, defaults, "{}", key.name);
    }
}

#[test]
fn every_name_is_given_once() {
    let mut names: Vec<&str> =
        KEYS.iter().flat_map(|key| std::iter::once(&key.name).chain(key.old).copied()).collect();
    names.extend(keys::NO_EFFECT.iter().map(|key| key.name));
    assert!(names.iter().all(|name| !keys::is_not_yet(name)));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// The defaults that are promised, rulings 9 and 24 among them.
#[test]
fn defaults_are_those_of_the_specification() {
    let defaults = Settings::default();
    for (name, value) in [
        ("execution.checkpointing.interval", "none"),
        ("execution.checkpointing.interval-during-backlog", "none"),
        ("execution.checkpointing.memory-storage.max-state-size", "5mb"),
        ("execution.checkpointing.mode", "EXACTLY_ONCE"),
        ("execution.checkpointing.timeout", "10min"),
        ("execution.checkpointing.min-pause", "0ms"),
        ("execution.checkpointing.max-concurrent-checkpoints", "1"),
        ("execution.checkpointing.tolerable-failed-checkpoints", "0"),
        ("execution.checkpointing.externalized-checkpoint-retention", "DELETE_ON_CANCELLATION"),
        ("execution.checkpointing.num-retained", "1"),
        ("execution.checkpointing.data-inline-threshold", "20kb"),
        ("execution.checkpointing.write-buffer-size", "4kb"),
        ("execution.checkpointing.checkpoints-after-tasks-finish", "true"),
        ("execution.checkpointing.unaligned.enabled", "false"),
        ("execution.checkpointing.aligned-checkpoint-timeout", "0ms"),
        ("execution.checkpointing.alignment.memory", "4mb"),
        ("execution.checkpointing.alignment.max-spill", "1gb"),
        ("state.backend.type", "hashmap"),
        ("restart-strategy.type", "auto"),
        ("restart-strategy.fixed-delay.attempts", "1"),
        ("restart-strategy.fixed-delay.delay", "1s"),
        ("restart-strategy.failure-rate.max-failures-per-interval", "1"),
        ("restart-strategy.failure-rate.failure-rate-interval", "1min"),
        ("restart-strategy.failure-rate.delay", "1s"),
        ("restart-strategy.exponential-delay.initial-backoff", "1s"),
        ("restart-strategy.exponential-delay.max-backoff", "1min"),
        ("restart-strategy.exponential-delay.backoff-multiplier", "1.5"),
        ("restart-strategy.exponential-delay.reset-backoff-threshold", "1h"),
        ("restart-strategy.exponential-delay.jitter-factor", "0.1"),
        ("restart-strategy.exponential-delay.attempts-before-reset-backoff", "none"),
        ("parallelism.default", "1"),
        ("execution.buffer-timeout.interval", "100ms"),
        ("exchange.segment-size", "32kb"),
        ("exchange.ring-segments", "16"),
        ("task.threads", "auto"),
        ("task.wait-strategy", "adaptive"),
        ("task.pinning", "true"),
        ("web.checkpoints.history", "10"),
    ] {
        assert_eq!(Key::named(name).unwrap().show(&defaults), value, "{name}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test compares a page of the repository with the code")]
fn the_reference_page_is_the_one_the_code_writes() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    if std::env::var_os("MILLSTREAM_WRITE_REFERENCE").is_some() {
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(&page, reference()).unwrap();
    }
    let written = String::from_utf8(std::fs::read(&page).unwrap()).unwrap();
    assert!(
        written == reference(),
        "rewrite it with MILLSTREAM_WRITE_REFERENCE=1 cargo test -p millstream config"
    );
}
