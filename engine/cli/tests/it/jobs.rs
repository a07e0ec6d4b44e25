//! The bundled jobs: exact output for small inputs.

use crate::support::Place;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn pass_copies_every_byte_and_counts_once() {
    let place = Place::new();
    let bytes = b"a\r\n\n\xff\xfe,\"x\nlast without end";
    place.write("in", bytes);
    let ran = place.run("run pass --input in --output out --summary summary.json").ends_well();
    assert_eq!(ran.stdout, "");
    let file = fs::read(place.path("out/part-0-0.txt")).unwrap();
    assert_eq!(file, [bytes.as_slice(), b"\n"].concat());
    let summary = place.summary();
    assert_eq!((&summary["state"], &summary["job"]), (&"FINISHED".into(), &"pass".into()));
    assert_eq!((&summary["records_in"], &summary["records_out"]), (&4.into(), &4.into()));
    assert_eq!(summary["job_id"].as_str().unwrap().len(), 32);
}

#[test]
fn files_are_closed_at_the_size_that_was_asked_for() {
    let place = Place::new();
    let lines = ["first\n", "second\n", "third\n", "4\n"];
    place.write("in", lines.concat());
    place.run("run pass --input in --output out --roll-size 10b").ends_well();
    // The line that reaches the size still belongs to the file.
    let file = |n: u32| fs::read_to_string(place.path(&format!("out/part-0-{n}.txt"))).unwrap();
    assert_eq!([file(0), file(1)], ["first\nsecond\n", "third\n4\n"]);
}

/// Ruling 30 slows every job by the records that it reads, also those that write few.
#[test]
fn the_pause_is_for_every_record_that_is_read() {
    for job in ["pass", "wordcount", "count", "running", "dedup"] {
        let place = Place::new();
        place.write("in", "k\n".repeat(100));
        place
            .run(&format!("run --summary summary.json {job} --input in --output out --delay 2ms"))
            .ends_well();
        let took = place.summary()["duration_ms"].as_u64().unwrap();
        assert!(took >= 200, "{job}: 100 records took {took} ms");
    }
}

#[test]
fn wordcount_counts_words_and_quotes_them_like_any_field() {
    let place = Place::new();
    place.write("in", "to be, or not\tto be\r\n\n\x0bto\x0c\"so\n");
    place.run("run -p 2 wordcount --input in --output out").ends_well();
    assert_eq!(place.sorted("out"), ["\"\"\"so\",1", "\"be,\",1", "be,1", "not,1", "or,1", "to,3"]);
}

#[test]
fn count_takes_any_number_of_fields() {
    let place = Place::new();
    place.write("in", "a,1,2\r\n\"a\"\nb\n\n,x\n\"a,b\",y\n");
    place.run("run -p 2 count --input in --output out").ends_well();
    assert_eq!(place.sorted("out"), ["\"a,b\",1", ",1", "a,2", "b,1"]);
}

#[test]
fn running_gives_the_sum_so_far_for_every_record_in_order() {
    let place = Place::new();
    place.write("in", "k,5\nk\nj,-2\nk,-10\nj,\"7\"\n");
    place.run("run running --input in --output out").ends_well();
    assert_eq!(place.lines("out"), ["k,5", "k,6", "j,-2", "k,-4", "j,5"]);
}

#[test]
fn dedup_keeps_the_own_bytes_of_the_first_record_of_each_key() {
    let place = Place::new();
    place.write("in", "\"a\", first\na,second\nb\n\"b\"\n\"x\ny\",1\n\"x\ny\",2\n");
    place.run("run dedup --input in --output out").ends_well();
    assert_eq!(fs::read_to_string(place.path("out/part-0-0.csv")).unwrap(), "\"a\", first\nb\n\"x\ny\",1\n");
}

#[test]
fn ms_075_a_sum_that_overflows_ends_the_job_naming_file_line_and_offset() {
    let place = Place::new();
    place.write("in", "k,9223372036854775807\nk,1\nk,-5\n");
    let ran = place.run("run running --input in --output out --summary summary.json");
    assert_eq!(ran.code, Some(1));
    let error = ran.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
    for part in ["in:2 (byte offset 22)", "9223372036854775807 + 1"] {
        assert!(error.contains(part), "{error}");
    }
    let summary = place.summary();
    assert_eq!((&summary["state"], &summary["restarts"]), (&"FAILED".into(), &0.into()));
}

#[test]
fn ms_075_bad_records_are_skipped_or_kept_aside_as_asked() {
    let place = Place::new();
    place.write("in", "k,9223372036854775807\nk,1\nk,x\nk,-5\n");
    let job = "run running --input in --summary summary.json";
    place.run(&format!("{job} --output skipped --bad-records skip")).ends_well();
    let good = ["k,9223372036854775807", "k,9223372036854775802"];
    assert_eq!(place.lines("skipped"), good);
    assert_eq!(place.summary()["records_rejected"], 2);
    assert_eq!(
        (place.summary()["records_in"].as_u64(), place.summary()["records_out"].as_u64()),
        (Some(4), Some(2))
    );

    place.run(&format!("{job} --output kept --bad-records dead-letter --dead-letter dead")).ends_well();
    assert_eq!(place.lines("kept"), good);
    let dead: String = place.lines("dead").join("\n");
    for part in ["k,1", "k,x", "in:2 (byte offset 22)", "in:3 (byte offset 26)", "is not a whole number"] {
        assert!(dead.contains(part), "{part}: {dead}");
    }
}

/// Totals of item 7 of the data's own page, computed there with other tools.
#[test]
fn flights_gives_the_independently_known_totals() {
    const KNOWN: &str = "origin EWR 9893/238/143915/1126; origin JFK 9161/100/78068/1301; origin LGA 7950/183/43818/478; \
        airline 9E 1573/75/25290/360; airline AA 2794/59/18960/337; airline AS 62/0/456/222; airline B6 4427/9/41942/502; \
        airline DL 3690/29/14094/599; airline EV 4171/182/96649/379; airline F9 59/0/590/248; airline FL 328/4/639/210; \
        airline HA 31/0/1686/1301; airline MQ 2271/65/14307/1126; airline OO 1/0/67/67; airline UA 4637/32/38342/385; \
        airline US 1602/47/2826/336; airline VX 316/1/335/246; airline WN 996/11/9000/259; airline YV 46/7/618/238";
    let place = Place::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/flights/flights.csv");
    let input = data.canonicalize().unwrap();
    let checkpoints = "-D execution.checkpointing.interval=100ms";
    let job = format!(
        "run -p 2 {checkpoints} --summary summary.json flights --header --input {} --output out",
        input.display()
    );
    let ran = place.run(&job).ends_well();

    // Each flight gives two lines; the one with the most flights is a key's total.
    let mut totals: BTreeMap<String, [i64; 4]> = BTreeMap::new();
    let lines = place.lines("out");
    assert_eq!(lines.len(), 2 * 27_004);
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<i64> = fields[2..].iter().map(|n| n.parse().unwrap()).collect();
        let total = totals.entry(format!("{} {}", fields[0], fields[1])).or_default();
        *total = (*total).max(numbers.try_into().unwrap());
    }
    let found: Vec<String> =
        totals.iter().map(|(key, [a, b, c, d])| format!("{key} {a}/{b}/{c}/{d}")).collect();
    let mut known: Vec<&str> = KNOWN.split("; ").collect();
    known.sort_unstable();
    assert_eq!(found, known);
    // The table for people says the same.
    for line in known {
        let cells: Vec<&str> = line.split([' ', '/']).collect();
        let shown = |text: &str| text.split_whitespace().collect::<Vec<_>>() == cells;
        assert!(ran.stderr.lines().any(shown), "{line}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("out/part-*.csv"));
    assert_eq!(place.summary()["records_in"], 27_004);
}
