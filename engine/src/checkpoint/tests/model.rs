//! The coordinator against random histories, watched by the [`Observer`]; then everybody cooperates, and the job must
//! end with everything answered and released.
//!
//! `MILLSTREAM_COORDINATOR_CASES` sets the number of histories; in the long form they are a million.

use super::observer::Observer;
use super::story::{failure, ms};
use crate::checkpoint::{
    AckMetrics, Action, CheckpointStatistics, Coordinator, Input, RequestKind, SubtaskId, TaskInfo, Ticket,
};
use crate::config::{CheckpointMode, Checkpointing};
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use proptest::prelude::*;
use std::time::Duration;

/// What happens next, chosen among what can happen then.
#[derive(Clone, Debug)]
enum Step {
    Pass(u16),
    UntilDue,
    Ack { pick: usize, stray: bool },
    Decline { pick: usize, failure: usize },
    EndOfData(usize),
    Backlog { pick: usize, behind: bool },
    Finish { pick: usize, unasked: bool },
    Store { fails: bool },
    Ask { full: bool },
    Stop,
    Fail,
    Start(u64),
    Deleting(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u16..3000).prop_map(Step::Pass),
        6 => Just(Step::UntilDue),
        20 => (any::<usize>(), prop::bool::weighted(0.1)).prop_map(|(pick, stray)| Step::Ack { pick, stray }),
        2 => (any::<usize>(), 0usize..9).prop_map(|(pick, failure)| Step::Decline { pick, failure }),
        2 => any::<usize>().prop_map(Step::EndOfData),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(pick, behind)| Step::Backlog { pick, behind }),
        2 => (any::<usize>(), prop::bool::weighted(0.05)).prop_map(|(pick, unasked)| Step::Finish { pick, unasked }),
        8 => prop::bool::weighted(0.2).prop_map(|fails| Step::Store { fails }),
        3 => any::<bool>().prop_map(|full| Step::Ask { full }),
        1 => Just(Step::Stop),
        1 => Just(Step::Fail),
        2 => any::<u64>().prop_map(Step::Start),
        1 => (0u32..4).prop_map(Step::Deleting),
    ]
}

fn settings() -> impl Strategy<Value = Checkpointing> {
    let interval = prop::option::weighted(0.95, 10u64..2000);
    let limits = (10u64..3000, prop_oneof![Just(0), 0u64..1500], 1u32..4, 0u32..4);
    // How much longer the interval is while a source is behind; none: nothing is taken meanwhile.
    let backlog = prop::option::of(prop::option::weighted(0.7, 0u64..2000));
    let overtaking = prop::option::of(prop_oneof![Just(0), 0u64..1000]);
    (interval, limits, backlog, overtaking, any::<bool>()).prop_map(
        |(
            interval,
            (timeout, pause, max_concurrent, tolerable_failed),
            backlog,
            overtaking,
            after_tasks_finish,
        )| {
            let longer = |by: Option<u64>| by.map_or(0, |by| interval.unwrap_or(10) + by);
            Checkpointing {
                interval: interval.map(Duration::from_millis),
                interval_during_backlog: backlog.map(longer).map(Duration::from_millis),
                timeout: Duration::from_millis(timeout),
                min_pause: Duration::from_millis(pause),
                max_concurrent: if overtaking.is_some() { 1 } else { max_concurrent },
                tolerable_failed,
                after_tasks_finish,
                mode: CheckpointMode::ExactlyOnce,
                unaligned: overtaking.is_some(),
                aligned_checkpoint_timeout: Duration::from_millis(overtaking.unwrap_or(0)),
                ..Checkpointing::default()
            }
        },
    )
}

/// Up to three tasks in a row, of up to three subtasks each.
fn tasks() -> impl Strategy<Value = Vec<TaskInfo>> {
    prop::collection::vec((1u32..4, any::<bool>()), 1..4).prop_map(|tasks| {
        let mut infos = Vec::new();
        for (task, (parallelism, source)) in tasks.into_iter().enumerate() {
            for _ in 0..parallelism {
                infos.push(TaskInfo {
                    subtask: SubtaskId(infos.len() as u32),
                    task: task as u32,
                    source: source || task == 0,
                    finished: false,
                });
            }
        }
        infos
    })
}

struct World {
    statistics: CheckpointStatistics,
    coordinator: Coordinator<u64>,
    observer: Observer,
    tasks: Vec<TaskInfo>,
    now: Moment,
    payload: u64,
    ticket: u64,
}

impl World {
    fn new(config: &Checkpointing, tasks: Vec<TaskInfo>) -> Self {
        let (coordinator, observer) = (Coordinator::new(config), Observer::new(config));
        let statistics = CheckpointStatistics::new(config.history as usize);
        Self { statistics, coordinator, observer, tasks, now: ms(0), payload: 0, ticket: 0 }
    }

    fn feed(&mut self, input: Input<u64>) -> Vec<Action<u64>> {
        let mut actions = Vec::new();
        self.observer.told(self.now, &input);
        self.coordinator.on(self.now, input.clone(), &mut actions);
        self.observer.asked(self.now, &input, &actions);
        for action in &actions {
            if let Action::Note(event) = action {
                self.statistics.take(event);
            }
        }
        let counts = self.statistics.counts();
        assert_eq!(counts.in_progress as usize, self.observer.pending.len());
        assert_eq!(counts.total, counts.in_progress + counts.completed + counts.failed);
        assert_eq!(self.coordinator.storing(), self.storing());
        actions
    }

    fn storing(&self) -> Option<CheckpointId> {
        self.observer.pending.values().find(|p| p.storing).map(|p| p.barrier.id)
    }

    fn tick(&mut self) {
        self.feed(Input::Tick);
        assert!(self.coordinator.due().is_none_or(|due| due > self.now), "would tick for ever");
    }

    fn until_due(&mut self) {
        if let Some(due) = self.coordinator.due() {
            self.now = self.now.max(due);
            self.tick();
        }
    }

    /// The acknowledgements that are awaited.
    fn awaited(&self) -> Vec<(CheckpointId, SubtaskId)> {
        let pending = self.observer.pending.values();
        pending.flat_map(|p| p.missing.iter().map(|subtask| (p.barrier.id, *subtask))).collect()
    }

    fn ack(&mut self, id: CheckpointId, subtask: SubtaskId) {
        self.payload += 1;
        let ended = self.observer.subtasks.get(&subtask).is_some_and(|s| s.ended);
        let (payload, metrics) = (self.payload, AckMetrics::default());
        self.feed(Input::Ack { id, subtask, payload, ended, metrics });
    }

    fn start(&mut self, seed: u64) {
        // What is being stored is waited for, as the supervisor does.
        if let Some(id) = self.storing() {
            self.feed(Input::Stored { id });
        }
        if let Some(id) = self.coordinator.latest() {
            self.feed(Input::Restored { id });
        }
        self.feed(Input::Started { tasks: self.tasks.clone(), seed });
    }

    fn subtask(&self, pick: usize) -> SubtaskId {
        self.tasks[pick % self.tasks.len()].subtask
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Pass(by) => {
                self.now += Duration::from_millis(by.into());
                self.tick();
            }
            Step::UntilDue => self.until_due(),
            Step::Ack { pick, stray: true } => {
                self.ack(CheckpointId((pick % 20) as u64), SubtaskId((pick % 7) as u32))
            }
            Step::Ack { pick, stray: false } => {
                let awaited = self.awaited();
                if !awaited.is_empty() {
                    let (id, subtask) = awaited[pick % awaited.len()];
                    self.ack(id, subtask);
                }
            }
            Step::Decline { pick, failure: which } => self.decline(pick, which),
            Step::EndOfData(pick) => _ = self.feed(Input::EndOfData { subtask: self.subtask(pick) }),
            Step::Backlog { pick, behind } => {
                _ = self.feed(Input::Backlog { subtask: self.subtask(pick), behind });
            }
            Step::Finish { pick, unasked } => {
                let subtask = self.subtask(pick);
                if unasked || self.observer.subtasks.get(&subtask).is_some_and(|s| s.released) {
                    self.feed(Input::Finished { subtask });
                }
            }
            Step::Store { fails } => {
                // An outcome that nobody asked for changes nothing.
                let stray = self.observer.pending.keys().next().map(|id| CheckpointId(*id));
                if let Some(id) = self.storing().or(stray) {
                    let cause = "disk full".to_owned();
                    self.feed(if fails { Input::StoreFailed { id, cause } } else { Input::Stored { id } });
                }
            }
            Step::Ask { full } => self.ask(RequestKind::Checkpoint { full }),
            Step::Stop => self.ask(RequestKind::Stop),
            Step::Fail => _ = self.feed(Input::Stopped),
            Step::Start(seed) => {
                if !self.observer.running {
                    self.start(seed);
                }
            }
            Step::Deleting(waiting) => _ = self.feed(Input::Deleting { waiting }),
        }
    }

    fn decline(&mut self, pick: usize, which: usize) {
        // Of any pending checkpoint, also when it has all its acknowledgements.
        let pending: Vec<CheckpointId> = self.observer.pending.values().map(|p| p.barrier.id).collect();
        if pending.is_empty() {
            return;
        }
        let (id, subtask) = (pending[pick % pending.len()], self.subtask(pick));
        let names = [
            "trigger-io",
            "trigger",
            "snapshot",
            "sync",
            "newer",
            "cancel",
            "input-ended",
            "limit",
            "closing",
        ];
        let failure = failure(names[which], subtask);
        self.feed(match which {
            0 | 1 => Input::TriggerFailed { id, failure },
            _ => Input::Decline { id, subtask, failure },
        });
    }

    fn ask(&mut self, kind: RequestKind) {
        self.ticket += 1;
        self.feed(Input::Request { ticket: Ticket(self.ticket), kind });
    }

    /// Somebody who may finish and has not.
    fn closing(&self) -> Option<SubtaskId> {
        let mut subtasks = self.observer.subtasks.iter();
        subtasks.find(|(_, s)| s.released && !s.finished).map(|(subtask, _)| *subtask)
    }

    /// Everybody does what is asked for at once: the job comes to its end.
    fn settle(&mut self) {
        self.feed(Input::Deleting { waiting: 0 });
        if !self.observer.running {
            self.start(9);
        }
        for subtask in self.tasks.clone() {
            self.feed(Input::EndOfData { subtask: subtask.subtask });
        }
        for _ in 0..1000 {
            if let Some((id, subtask)) = self.awaited().first().copied() {
                self.ack(id, subtask);
            } else if let Some(id) = self.storing() {
                self.feed(Input::Stored { id });
            } else if let Some(subtask) = self.closing() {
                self.feed(Input::Finished { subtask });
            } else if self.observer.subtasks.values().all(|s| s.released) {
                break;
            } else {
                self.until_due();
            }
        }
        assert!(self.observer.subtasks.values().all(|s| s.released), "the job does not end");
        assert!(self.observer.unanswered.is_empty(), "not answered: {:?}", self.observer.unanswered);
        assert!(self.observer.pending.is_empty());
        assert_eq!(self.coordinator.due(), None, "nothing is left to do");
    }
}

fn cases() -> u32 {
    let asked = std::env::var("MILLSTREAM_COORDINATOR_CASES").ok().and_then(|n| n.parse().ok());
    let long = std::env::var_os("MILLSTREAM_LONG").is_some_and(|long| long != "0");
    asked.unwrap_or(if long { 1_000_000 } else { 2_000 })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_keeps_the_invariants_and_comes_to_an_end(
        config in settings(),
        tasks in tasks(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let mut world = World::new(&config, tasks);
        world.start(1);
        for step in &steps {
            world.step(step);
        }
        world.settle();
    }
}

#[test]
fn a_quiet_job_expires_what_nobody_acknowledges_and_never_ticks_in_vain() {
    let config = Checkpointing {
        interval: Some(ms(50)),
        timeout: ms(10),
        tolerable_failed: 100,
        ..Default::default()
    };
    let mut world =
        World::new(&config, vec![TaskInfo { subtask: SubtaskId(0), task: 0, source: true, finished: false }]);
    world.start(5);
    for _ in 0..100 {
        world.until_due();
    }
    let counts = world.statistics.counts();
    // Each checkpoint takes two wake-ups: its trigger and its expiry.
    assert_eq!((counts.total, counts.failed), (50, 50));
    assert_eq!(world.observer.timeout(), ms(10));
}
