use super::*;
use proptest::prelude::*;

fn heard(bytes: &[u8]) -> Result<Request, ProtocolError> {
    receive(&mut &*bytes, REQUEST_MAX)
}

fn entry() -> Entry {
    Entry {
        id: 7,
        kind: "CHECKPOINT".to_owned(),
        status: "FAILED".to_owned(),
        unaligned: false,
        trigger_ms: 1_577_836_800_000,
        duration_ms: 12,
        checkpointed_bytes: 3,
        full_bytes: 4,
        processed_bytes: 5,
        persisted_bytes: 0,
        alignment_ms: 1,
        start_delay_ms: 2,
        path: None,
        failure: Some("a \"quoted\"\nline".to_owned()),
    }
}

#[test]
fn every_message_is_one_line_and_comes_back_as_it_was() {
    let requests = [
        Request::Status,
        Request::Checkpoints,
        Request::Details { id: 7 },
        Request::Overview,
        Request::Metrics,
        Request::Checkpoint { full: true },
        Request::Stop,
        Request::Cancel,
    ];
    for request in requests {
        let mut line = Vec::new();
        send(&mut line, &request).unwrap();
        assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
        assert_eq!(heard(&line).unwrap(), request);
    }
    let history = History {
        job_id: "ab".repeat(16),
        name: "n".to_owned(),
        counts: Counts { total: 1, failed: 1, ..Counts::default() },
        restored: None,
        history: vec![entry()],
    };
    for reply in [Reply::History(history), Reply::Path("/ck/chk-1".to_owned()), Reply::Done] {
        let mut line = Vec::new();
        send(&mut line, &reply).unwrap();
        assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
        assert_eq!(receive::<Reply>(&mut line.as_slice(), REPLY_MAX).unwrap(), reply);
    }
}

#[test]
fn malformed_requests_are_refused_by_kind() {
    for bad in [
        "\n",
        "hello\n",
        "{}\n",
        "[]\n",
        "null\n",
        "{\"verb\":\"explode\"}\n",
        "{\"verb\":\"checkpoint\"}\n",
        "{\"verb\":\"checkpoint\",\"full\":1}\n",
        "{\"verb\":\"checkpoint\",\"full\":true,\"more\":1}\n",
        "{\"verb\":\"status\"} x\n",
        "{\"verb\":\"\u{fffd}\"}\n",
    ] {
        assert!(matches!(heard(bad.as_bytes()), Err(ProtocolError::Malformed(_))), "{bad}");
    }
    assert!(matches!(heard(b"\xff\xfe\n"), Err(ProtocolError::Malformed(_))));
    assert!(matches!(heard(b""), Err(ProtocolError::Cut)));
    assert!(matches!(heard(b"{\"verb\":\"status\"}"), Err(ProtocolError::Cut)));
    let long = vec![b'x'; REQUEST_MAX + 1];
    assert!(matches!(heard(&long), Err(ProtocolError::TooLong(REQUEST_MAX))));
    let nested = format!("{}\n", "[".repeat(4000));
    assert!(matches!(heard(nested.as_bytes()), Err(ProtocolError::Malformed(_))));
}

/// The names of fields are a contract (command-line page).
#[test]
fn json_has_the_fields_of_the_contract() {
    let status = Status {
        job_id: "0".repeat(32),
        name: "n".to_owned(),
        state: "RUNNING".to_owned(),
        pid: 1,
        parallelism: 2,
        start_ms: 3,
        last_checkpoint: None,
    };
    let fields =
        |value: serde_json::Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let sorted = |names: &str| -> Vec<String> {
        let mut names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        names.sort();
        names
    };
    let mut listed = fields(serde_json::to_value(&status).unwrap());
    listed.sort();
    assert_eq!(listed, sorted("job_id name state pid parallelism start_ms last_checkpoint"));
    let last = LastCheckpoint { id: 1, path: "p".to_owned(), completed_ms: 2 };
    let mut listed = fields(serde_json::to_value(&last).unwrap());
    listed.sort();
    assert_eq!(listed, sorted("id path completed_ms"));
    let mut listed = fields(serde_json::to_value(entry()).unwrap());
    listed.sort();
    assert_eq!(
        listed,
        sorted(
            "id kind status unaligned trigger_ms duration_ms checkpointed_bytes full_bytes processed_bytes \
             persisted_bytes alignment_ms start_delay_ms path failure"
        )
    );
    let mut listed = fields(serde_json::to_value(Counts::default()).unwrap());
    listed.sort();
    assert_eq!(listed, sorted("total in_progress completed failed restored"));
}

proptest! {
    /// Whatever arrives, there is an answer and no panic, and nothing beyond the limit is kept.
    #[test]
    fn arbitrary_bytes_are_refused_or_understood(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = heard(&bytes);
        let _ = receive::<Reply>(&mut bytes.as_slice(), 100);
    }

    /// A message arrives whole however the stream is cut into pieces.
    #[test]
    fn a_message_may_come_in_pieces(piece in 1_usize..20) {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(self.0.len()).min(to.len());
                to[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let line = b"{\"verb\":\"checkpoint\",\"full\":true}\n";
        let heard: Request = receive(&mut Pieces(line, piece), REQUEST_MAX).unwrap();
        prop_assert_eq!(heard, Request::Checkpoint { full: true });
    }
}
