//! What a running job says of itself.

use millstream_tests::process::{Place, wait_for};
use serde_json::Value;

const OPTIONS: &str = "-D execution.checkpointing.interval=50ms -D execution.checkpointing.dir=ck";

fn json(place: &Place, verb: &str) -> Option<Value> {
    serde_json::from_str(&place.run(verb).stdout).ok()
}

/// MS-083: of 100,000 keys all are restored: exactly 100 percent, nothing remains, and what is counted is keys.
#[test]
fn ms_083_restoring_100_000_keys_ends_at_exactly_all_of_it() {
    for options in ["", "-D state.backend.type=paged"] {
        let place = Place::new();
        place.write("in", (0..100_000).map(|n| format!("key-{n}\n")).collect::<String>());
        let job = |parallelism| {
            format!("run {OPTIONS} {options} -p {parallelism} count --follow --input in --output out")
        };
        let mut running = place.start(&job(2));
        running.started();
        wait_for("all keys", || (place.metric("count", "numRecordsIn") == Some(100_000)).then_some(()));
        place.run("checkpoint count").well();
        assert!(running.kill().was_killed());
        let mut running = place.start(&job(3));
        assert!(running.started().starts_with("resuming from "));
        place.job(|job| job["state"] == "RUNNING");
        let figures = ["restoreRecordsDone", "restoreRecordsRemaining", "restorePercent"];
        let told = figures.map(|name| place.metric("count", name).unwrap());
        assert_eq!(told, [100_000, 0, 100], "{options}");
        running.kill();
    }
}

/// REST-01: that barriers overtook records, how many bytes of these it holds, and what was held back in files: in JSON and for
/// people.
#[test]
fn rest_01_records_in_flight_and_held_back_are_shown() {
    let numbers: String = (0..200_000).map(|n| format!("{n}\n")).collect();
    let start = |options: &str| {
        let place = Place::of_trials();
        place.write("slow", &numbers);
        place.write("fast", &numbers);
        let exchange = "-D exchange.segment-size=1kb -D exchange.ring-segments=4";
        let job = "--trial union --input slow --input fast --output out --branch-delay 20ms --delay 1ms";
        let running = place.start(&format!("run {OPTIONS} {exchange} {options} {job}"));
        (place, running)
    };
    // Bytes of one kind that a completed checkpoint has, and its number.
    let found = |place: &Place, of: &str| {
        wait_for("a checkpoint that has some", || {
            let history = json(place, "checkpoints trials --json")?;
            let newest =
                history["history"].as_array()?.iter().find(|entry| entry["status"] == "COMPLETED")?;
            let details = json(place, &format!("checkpoints trials --id {} --json", newest["id"]))?;
            (details["measured"][of].as_u64()? > 0).then_some(details)
        })
    };
    let line = |text: &str, beginning: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(beginning));
        line.unwrap_or_else(|| panic!("no {beginning} in {text}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };

    let (place, running) = start("-D execution.checkpointing.unaligned.enabled=true");
    let details = found(&place, "persisted_bytes");
    assert_eq!(
        (&details["checkpoint"]["unaligned"], &details["measured"]["unaligned"]),
        (&true.into(), &true.into())
    );
    let shown = place.run("checkpoints trials").well().stdout;
    assert!(line(&shown, "ID").contains("UNALIGNED IN FLIGHT"), "{shown}");
    let mut rows = shown.lines().filter(|row| row.contains("COMPLETED"));
    assert!(rows.all(|row| row.contains("  yes  ")), "{shown}");
    running.kill();

    let (place, running) = start("-D execution.checkpointing.alignment.memory=0b");
    let details = found(&place, "spilled_bytes");
    assert_eq!(
        (&details["checkpoint"]["unaligned"], &details["measured"]["unaligned"]),
        (&false.into(), &false.into())
    );
    let parts =
        details["tasks"].as_array().unwrap().iter().flat_map(|task| task["parts"].as_array().unwrap());
    let sum: u64 = parts.map(|part| part["measured"]["spilled_bytes"].as_u64().unwrap()).sum();
    assert_eq!(details["measured"]["spilled_bytes"], sum);
    let id = &details["checkpoint"]["id"];
    let shown = place.run(&format!("checkpoints trials --id {id}")).well().stdout;
    assert!(line(&shown, "TASK").contains("HELD SPILLED PROCESSED UNALIGNED PERSISTED"), "{shown}");
    running.kill();
}
