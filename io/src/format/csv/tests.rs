//! CSV against RFC 4180 by hand, against a byte-at-a-time model of the grammar, and against `csv-core`.

use super::*;
use crate::format::testing::{csv_model as model, cuts, cuts_by_runs, split};
use crate::format::{Borders, Splitter};
use crate::record::{Record, Row};
use proptest::prelude::*;

fn row(record: &[u8]) -> Vec<Vec<u8>> {
    let mut scratch = Vec::new();
    fields(record).map(|field| field.value(&mut scratch).to_vec()).collect()
}

fn texts(row: &[&str]) -> Vec<Vec<u8>> {
    row.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn ms060_crlf_and_a_quoted_line_break_come_out_the_same_however_the_bytes_are_cut() {
    let text = b"id,note\r\n1,\"x\r\ny\"\r\n2,z\r\n";
    for chunk in 1..=text.len() {
        let records = split::<Csv>(text, chunk);
        let rows: Vec<_> = records.iter().map(|record| row(record)).collect();
        let want = [texts(&["id", "note"]), texts(&["1", "x\r\ny"]), texts(&["2", "z"])];
        assert_eq!(rows, want, "fed in chunks of {chunk}");
    }
}

#[test]
fn quotes_mean_the_same_wherever_blocks_of_64_bytes_end() {
    for pad in 0..140 {
        let pad = "a".repeat(pad);
        let text = format!("\"{pad}\"\"\"\"x\n\",b\n{pad},\"\n\"\n5\"{pad}\",\"c\n\"{pad}\n\n{pad}\n");
        let want = model(text.as_bytes()).0;
        assert_eq!(cuts_by_runs::<CsvSplitter>(text.as_bytes(), text.len(), 100), want, "{text:?}");
    }
}

#[test]
fn fields_by_rfc_4180_and_what_it_leaves_open() {
    for (record, want) in [
        ("", vec![""]),
        ("a", vec!["a"]),
        (",", vec!["", ""]),
        ("a,", vec!["a", ""]),
        ("\"a,b\",c", vec!["a,b", "c"]),
        ("\"\"", vec![""]),
        ("\"\"\"\"", vec!["\""]),
        ("\"say \"\"hi\"\"\",x", vec!["say \"hi\"", "x"]),
        ("5\" pipe,x", vec!["5\" pipe", "x"]),
        ("\"a\"b,c", vec!["ab", "c"]),
        ("\"a\"b\"c,d", vec!["ab\"c", "d"]),
        (" \"a\"", vec![" \"a\""]),
        ("\"open, still", vec!["open, still"]),
        ("\"a\"\"", vec!["a\""]),
    ] {
        assert_eq!(row(record.as_bytes()), texts(&want), "{record:?}");
    }
}

#[test]
fn a_value_borrows_unless_a_quote_is_doubled() {
    let record = b"plain,\"quoted, too\",\"dou\"\"bled\"";
    let borrowed: Vec<_> = fields(record).map(Field::borrowed).collect();
    assert_eq!(borrowed, [Some(&b"plain"[..]), Some(b"quoted, too"), None]);
}

#[test]
fn lines_without_content_are_no_records() {
    assert_eq!(split::<Csv>(b"\n\r\na\n\n\r\n\"\"\n\r", 3), [&b"a"[..], b"\"\"", b"\r"]);
}

#[test]
fn a_record_round_trips_with_its_place() {
    let line = CsvLine { file: 7, offset: u64::MAX, line: b"a,\"b\"".to_vec() };
    let bytes = CsvLine::encode(line.view());
    let row = Row::<CsvLine>::parse(&bytes).unwrap();
    assert_eq!(CsvLine::own(row.view()), line);
}

/// Bytes that matter to the grammar, and some that do not; or well-formed fields with a stray quote here and there, so
/// that whole blocks of each kind occur.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let soup = prop::collection::vec(prop::sample::select(b"\"\"\"a,,\n\r".to_vec()), 0..200);
    let fields = [
        "a",
        "plain text",
        "",
        "\"q\"",
        "\"a,\nb\"",
        "\"\"\"x\"\"\"",
        "\"long and quoted, with\r\nbreaks\"",
        "5\" x",
    ];
    let field = prop::sample::select(fields.to_vec());
    let stop = prop::sample::select(vec![",", ",", ",", "\n", "\r\n", "\"", "\n\n"]);
    let rows = prop::collection::vec((field, stop), 0..40);
    prop_oneof![
        soup,
        rows.prop_map(|rows| rows.iter().flat_map(|(a, b)| [*a, *b]).collect::<String>().into_bytes())
    ]
}

/// The rows that `csv-core` reads.
fn reference(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    use csv_core::{ReadFieldResult, ReaderBuilder, Terminator};
    let mut reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = text;
    let mut out = [0; 256];
    loop {
        let (result, read, written) = reader.read_field(rest, &mut out);
        rest = &rest[read..];
        field.extend_from_slice(&out[..written]);
        match result {
            ReadFieldResult::InputEmpty => {}
            ReadFieldResult::OutputFull => unreachable!("256 bytes hold any field of these tests"),
            ReadFieldResult::Field { record_end } => {
                row.push(std::mem::take(&mut field));
                if record_end {
                    rows.push(std::mem::take(&mut row));
                }
            }
            ReadFieldResult::End => return rows,
        }
    }
}

proptest! {
    #[test]
    fn records_end_where_the_model_says_however_the_bytes_are_cut(
        text in any_text(), chunk in 1usize..300, run in 1usize..10,
    ) {
        let (ends, open) = model(&text);
        prop_assert_eq!(cuts::<CsvSplitter>(&text, chunk), &ends[..]);
        prop_assert_eq!(cuts_by_runs::<CsvSplitter>(&text, chunk, run), ends);
        let mut splitter = CsvSplitter::default();
        let mut at = 0;
        while let Some(n) = splitter.next_end(&text[at..]) {
            at += n;
        }
        prop_assert_eq!(splitter.unfinished().is_some(), open);
    }

    #[test]
    fn borders_are_the_first_ends_of_records_at_or_behind_each_place(
        text in any_text(), mut places in prop::collection::vec(1u64..400, 0..6), chunk in 1usize..300,
    ) {
        places.sort_unstable();
        let (mut ends, _) = model(&text);
        ends.retain(|(_, end)| text[end - 1] == b'\n' && !model(&text[..*end]).1);
        let mut want: Vec<u64> = places
            .iter()
            .filter_map(|place| ends.iter().map(|(_, end)| *end as u64).find(|end| end >= place))
            .collect();
        want.dedup();
        let mut borders = Borders::<CsvSplitter>::new(0, places);
        for piece in text.chunks(chunk) {
            if !borders.feed(piece) {
                break;
            }
        }
        prop_assert_eq!(borders.found(), want);
    }

    #[test]
    fn fields_are_those_of_an_independent_reader(
        text in prop::collection::vec(prop::sample::select(b"\"\"\"ab,,\n".to_vec()), 0..80),
    ) {
        prop_assume!(!model(&text).1);
        let rows: Vec<_> = split::<Csv>(&text, 7).into_iter().map(row).collect();
        prop_assert_eq!(rows, reference(&text));
    }

    #[test]
    fn a_written_field_reads_back(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 1..5)) {
        let mut line = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                line.push(b',');
            }
            write_field(&mut line, part);
        }
        prop_assert_eq!(row(&line), parts);
        let mut file = line.clone();
        file.push(b'\n');
        prop_assert_eq!(split::<Csv>(&file, 3), if line.is_empty() { vec![] } else { vec![&line[..]] });
    }
}
