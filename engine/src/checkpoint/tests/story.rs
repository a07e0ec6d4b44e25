//! Runs a story: lines of `<ms> <what happens> => <what the coordinator asks for>; …`.
//!
//! Time counts from the first periodic checkpoint of the attempt started last (`start`), whatever chance chose for
//! it. `start` lists the task of each subtask; `s` before it marks a source, `x` a finished one.

use crate::checkpoint::{
    AckMetrics, Action, CheckpointFailure, CheckpointKind, CheckpointStatistics, Coordinator, Input,
    RequestKind, SubtaskId, Taken, TaskInfo, Ticket,
};
use crate::config::Checkpointing;
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::time::Duration;

/// A snapshot: of which checkpoint and subtask.
pub(super) type Payload = (u64, u32);

pub(super) fn ms(n: i64) -> Duration {
    Duration::from_millis(u64::try_from(n).expect("a story does not go back before its beginning"))
}

/// Every second, otherwise the defaults.
pub(super) fn every_second() -> Checkpointing {
    Checkpointing { interval: Some(ms(1000)), ..Checkpointing::default() }
}

pub(super) struct Story {
    pub(super) statistics: CheckpointStatistics,
    pub(super) coordinator: Coordinator<Payload>,
    pub(super) now: Moment,
    base: Moment,
    seed: u64,
}

/// Tells a story from the beginning.
pub(super) fn tell(config: &Checkpointing, text: &str) -> Story {
    let mut story = Story::new(config);
    story.tell(text);
    story
}

impl Story {
    pub(super) fn new(config: &Checkpointing) -> Self {
        let now = ms(1_000_000);
        let statistics = CheckpointStatistics::new(config.history as usize);
        Self { statistics, coordinator: Coordinator::new(config), now, base: now, seed: 1 }
    }

    /// Goes on.
    #[track_caller]
    pub(super) fn tell(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (happens, expected) = line.split_once("=>").unwrap_or((line, ""));
            let found: Vec<String> = self.feed(happens.trim()).iter().map(show).collect();
            assert_eq!(found.join("; "), expected.trim(), "in the line: {line}");
        }
    }

    /// When the next tick is wanted, in the story's time.
    pub(super) fn due(&self) -> Option<i64> {
        self.coordinator.due().map(|due| (due - self.base).as_millis() as i64)
    }

    pub(super) fn feed(&mut self, happens: &str) -> Vec<Action<Payload>> {
        let mut words = happens.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let first = next();
        let (input, starts) = match first.parse::<i64>() {
            Ok(at) => {
                let at = self.base + ms(at);
                assert!(at >= self.now, "time goes back: {happens}");
                self.now = at;
                let verb = next();
                (input(verb, words.collect(), &mut self.seed), false)
            }
            Err(_) => (input(first, words.collect(), &mut self.seed), first == "start"),
        };
        let mut actions = Vec::new();
        self.coordinator.on(self.now, input, &mut actions);
        if starts {
            self.base = self.coordinator.due().unwrap_or(self.now);
        }
        actions.retain(|action| match action {
            Action::Note(event) => {
                self.statistics.take(event);
                false
            }
            _ => true,
        });
        actions
    }
}

fn input(verb: &str, words: Vec<&str>, seed: &mut u64) -> Input<Payload> {
    let number = |at: usize| words[at].parse::<u64>().expect("a number");
    let id = || CheckpointId(number(0));
    let subtask = |at: usize| SubtaskId(number(at) as u32);
    match verb {
        "start" => {
            *seed += 1;
            Input::Started { tasks: tasks(&words), seed: *seed }
        }
        "tick" => Input::Tick,
        "ack" => Input::Ack {
            id: id(),
            subtask: subtask(1),
            payload: (number(0), number(1) as u32),
            ended: words.get(2) == Some(&"ended"),
            metrics: AckMetrics { bytes: 10, ..AckMetrics::default() },
        },
        "decline" => Input::Decline { id: id(), subtask: subtask(1), failure: failure(words[2], subtask(1)) },
        "trigger-failed" => Input::TriggerFailed { id: id(), failure: failure(words[1], SubtaskId(0)) },
        "input-ended" => Input::InputEnded { subtask: subtask(0) },
        "end" => Input::EndOfData { subtask: subtask(0) },
        "backlog" => Input::Backlog { subtask: subtask(0), behind: words[1] == "on" },
        "finished" => Input::Finished { subtask: subtask(0) },
        "stored" => Input::Stored { id: id() },
        "store-failed" => Input::StoreFailed { id: id(), cause: "disk full".to_owned() },
        "deleting" => Input::Deleting { waiting: number(0) as u32 },
        "ask" => {
            let full = words.get(1) == Some(&"full");
            Input::Request { ticket: Ticket(number(0)), kind: RequestKind::Checkpoint { full } }
        }
        "stop" => Input::Request { ticket: Ticket(number(0)), kind: RequestKind::Stop },
        "fail" => Input::Stopped,
        "restored" => Input::Restored { id: id() },
        other => panic!("no such thing happens: {other}"),
    }
}

fn tasks(words: &[&str]) -> Vec<TaskInfo> {
    let info = |(subtask, word): (usize, &&str)| TaskInfo {
        subtask: SubtaskId(subtask as u32),
        task: word.trim_start_matches(['s', 'x']).parse().expect("a task"),
        source: word.contains('s'),
        finished: word.contains('x'),
    };
    words.iter().enumerate().map(info).collect()
}

pub(super) fn failure(name: &str, subtask: SubtaskId) -> CheckpointFailure {
    let cause = || "disk full".to_owned();
    match name {
        "trigger-io" => CheckpointFailure::TriggerIo { cause: cause() },
        "trigger" => CheckpointFailure::Trigger { cause: cause() },
        "snapshot" => CheckpointFailure::Snapshot { subtask, cause: cause() },
        "spill" => CheckpointFailure::Spill { subtask, cause: cause() },
        "sync" => CheckpointFailure::Sync { subtask, cause: cause() },
        "newer" => CheckpointFailure::NewerBarrier { newer: CheckpointId(9) },
        "cancel" => CheckpointFailure::CancelMarker,
        "input-ended" => CheckpointFailure::InputEnded,
        "limit" => CheckpointFailure::AlignmentLimit { held: 5, limit: 4 },
        "closing" => CheckpointFailure::TaskClosing { subtask },
        other => panic!("no such failure: {other}"),
    }
}

/// The word of a failure.
pub(super) fn word(failure: &CheckpointFailure) -> String {
    let debug = format!("{failure:?}");
    debug.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
}

fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(" "))
}

fn show(action: &Action<Payload>) -> String {
    match action {
        Action::Trigger { barrier, subtasks } => {
            assert_eq!(barrier.close, barrier.last, "sinks close where the job ends");
            let full = if barrier.kind == CheckpointKind::FullCheckpoint { " full" } else { "" };
            let last = if barrier.last { " last" } else { "" };
            format!("trigger {}{full}{last} {}", barrier.id, list(subtasks))
        }
        Action::Store { barrier, acks, finished } => {
            assert!(acks.iter().all(|(subtask, payload)| *payload == (barrier.id.0, subtask.0)));
            let gone =
                if finished.is_empty() { String::new() } else { format!(" finished {}", list(finished)) };
            format!("store {} {}{gone}", barrier.id, list(acks.iter().map(|(subtask, _)| subtask)))
        }
        Action::Complete { id, subtasks } => format!("complete {id} {}", list(subtasks)),
        Action::Abort { id, failure, subtasks, .. } => {
            format!("abort {id} {} {}", list(subtasks), word(failure))
        }
        Action::Discard { id, payloads } => {
            assert!(payloads.iter().all(|(of, _)| *of == id.0));
            format!("discard {id} {}", list(payloads.iter().map(|(_, subtask)| subtask)))
        }
        Action::Answer { ticket, result } => {
            let result = match result {
                Ok(Taken::Completed(id)) => format!("ok {id}"),
                Ok(Taken::Nothing) => "nothing".to_owned(),
                Err(failure) => word(failure),
            };
            format!("answer {} {result}", ticket.0)
        }
        Action::Note(event) => panic!("taken before: {event:?}"),
        Action::FailJob { .. } => "fail job".to_owned(),
        Action::MayFinish { subtasks, commit } => {
            format!("{}may finish {}", if *commit { "commit, " } else { "" }, list(subtasks))
        }
    }
}
