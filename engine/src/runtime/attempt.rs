//! One attempt at a job: builds its subtasks and rings, and speaks to them.

use super::driver::{Cell, Driver, Seat};
use crate::checkpoint::{Input, SubtaskId, TaskInfo};
use crate::error::{Error, calling};
use crate::graph::Plan;
use crate::task::{
    Acknowledged, BuildContext, Core, EdgeEnds, Fault, Flow, Message, Reporter, Restored, SnapshotWriter,
    TaskSettings, ToSupervisor, Turns, Workshop,
};
use crossbeam_channel::{Receiver, Sender, unbounded};
use millstream_io::clock::Clock;
use millstream_io::counters::Counters;
use millstream_io::executor::Executor;
use millstream_io::scratch::{Scratch, Supply};
use millstream_io::storage::Storage;
use millstream_io::waker::Waker;
use millstream_state::local::LocalCopies;
use millstream_state::metadata::LineCounters;
use millstream_state::snapshot::WriteOptions;
use std::path::PathBuf;
use std::sync::Arc;

/// What does not change from attempt to attempt.
pub(crate) struct Shared {
    pub clock: Arc<dyn Clock>,
    /// Files of sources and sinks.
    pub files: Arc<dyn Storage>,
    /// Where checkpoints are.
    pub checkpoints: Arc<dyn Storage>,
    pub checkpoint_dir: PathBuf,
    /// Second copies of what is there, nearby.
    pub copies: Option<Arc<LocalCopies>>,
    pub scratch: Arc<dyn Scratch>,
    pub executor: Arc<dyn Executor>,
    pub settings: Arc<TaskSettings>,
    pub write_options: WriteOptions,
    pub ring_segments: usize,
    pub job_id: String,
    /// Whether output is committed with checkpoints, be it only with one at the end.
    pub checkpointing: bool,
    pub sender: Sender<ToSupervisor>,
}

/// Subtasks that run, or are about to.
pub(crate) struct Attempt {
    pub number: u64,
    mail: Vec<(Sender<Message>, Waker)>,
    pub tasks: Vec<TaskInfo>,
    pub counters: Vec<Arc<Counters>>,
    /// What each subtask had counted at its newest acknowledged barrier.
    pub acknowledged: Vec<LineCounters>,
    pub running: usize,
    /// What the coordinator is to hear of subtasks that have come to an end before all were running: it does not know them
    /// yet.
    pub early: Vec<Input<Acknowledged>>,
    /// Subtasks that were told to finish.
    pub told_to_finish: usize,
    /// Subtasks that have pre-committed at the end without checkpoints, and that have committed there.
    pub pre_committed: usize,
    pub committed: usize,
    pub closed: usize,
}

impl Attempt {
    /// Whether subtasks commit at the end without checkpoints: some of the output may be visible.
    pub(crate) fn is_committing(&self) -> bool {
        self.pre_committed == self.len()
    }

    /// Whether all subtasks were told to finish: the attempt ends by itself.
    pub(crate) fn is_finishing(&self) -> bool {
        self.told_to_finish == self.len()
    }

    /// Builds all subtasks and hands them to the driver.
    pub(crate) fn start(
        number: u64,
        line: u64,
        plan: &mut Plan,
        shared: &Shared,
        mut restored: Vec<Restored>,
        driver: &mut dyn Driver,
    ) -> Result<Self, Error> {
        let seats = seats(plan);
        let wakers = driver.seat(&seats);
        let mut ends = connect(plan, shared.ring_segments, &wakers);
        let mut attempt = Self {
            number,
            mail: Vec::new(),
            tasks: Vec::new(),
            counters: Vec::new(),
            acknowledged: vec![LineCounters::default(); seats.len()],
            running: 0,
            early: Vec::new(),
            told_to_finish: 0,
            pre_committed: 0,
            committed: 0,
            closed: 0,
        };
        let mut cells = Vec::new();
        for (index, seat) in seats.iter().enumerate() {
            let (sender, mailbox) = unbounded();
            let waker = wakers[index].clone();
            let subtask = SubtaskId(index as u32);
            let reporter = Reporter { attempt: number, subtask, sender: shared.sender.clone() };
            let counters = Arc::<Counters>::default();
            restored[index].announce(counters.clone());
            let planned = &plan.tasks[seat.task];
            attempt.tasks.push(TaskInfo {
                subtask,
                task: seat.task as u32,
                source: planned.is_source,
                finished: false,
            });
            let flow = Arc::new(Flow::new(shared.settings.chunk, waker.clone()));
            let core = core(shared, line, seat, mailbox, reporter.clone(), counters.clone(), flow);
            let mut cx = BuildContext {
                subtask: seat.subtask,
                parallelism: planned.parallelism.subtasks(),
                width: planned.parallelism,
                fault: core.fault.clone(),
                counters: counters.clone(),
                clock: shared.clock.clone(),
                storage: shared.files.clone(),
                supply: Supply::new(shared.scratch.clone(), shared.executor.clone()),
                waker: waker.clone(),
                settings: shared.settings.clone(),
                job_id: shared.job_id.clone(),
                line,
                checkpointing: shared.checkpointing,
                ends: std::mem::take(&mut ends[index]),
                operators: &plan.ids,
                core: Some(core),
                restored: Some(std::mem::take(&mut restored[index])),
                targets: &planned.targets,
                edges: &plan.graph.edges,
                loops: &plan.loops,
                looped: plan.loops.of_task(seat.task),
            };
            let built = calling(&seat.name, "construction", || (plan.graph.tasks[seat.task].build)(&mut cx))?;
            cells.push(Cell::new(built, reporter, seat.name.clone()));
            attempt.mail.push((sender, waker));
            attempt.counters.push(counters);
        }
        driver.start(cells)?;
        Ok(attempt)
    }

    /// Number of subtasks.
    pub(crate) fn len(&self) -> usize {
        self.mail.len()
    }

    /// Tells a subtask.
    pub(crate) fn tell(&self, subtask: SubtaskId, message: Message) {
        if let Some((mail, waker)) = self.mail.get(subtask.0 as usize) {
            // A subtask that is gone needs to know nothing more.
            let _ = mail.send(message);
            waker.wake();
        }
    }

    /// Tells every subtask.
    pub(crate) fn tell_all(&self, message: &Message) {
        for subtask in 0..self.mail.len() {
            self.tell(SubtaskId(subtask as u32), message.clone());
        }
    }
}

fn seats(plan: &Plan) -> Vec<Seat> {
    let mut seats = Vec::new();
    for (task, planned) in plan.tasks.iter().enumerate() {
        for subtask in 0..planned.parallelism.subtasks() {
            seats.push(Seat { task, subtask, name: format!("{} [{subtask}]", planned.name) });
        }
    }
    seats
}

fn core(
    shared: &Shared,
    line: u64,
    seat: &Seat,
    mailbox: Receiver<Message>,
    reporter: Reporter,
    counters: Arc<Counters>,
    flow: Arc<Flow>,
) -> Core {
    let name = format!("{}-{}", seat.task, seat.subtask);
    let workshop = Workshop {
        storage: shared.checkpoints.clone(),
        executor: Arc::downgrade(&shared.executor),
        dir: shared.checkpoint_dir.clone(),
        options: shared.write_options,
        line,
        name: name.clone(),
    };
    let writer = SnapshotWriter {
        name,
        storage: shared.checkpoints.clone(),
        executor: shared.executor.clone(),
        clock: shared.clock.clone(),
        counters,
        dir: shared.checkpoint_dir.clone(),
        options: shared.write_options,
        largest_state: shared.settings.largest_state,
        line,
        turns: Turns::new(Some(workshop)),
        flow,
        under_way: Vec::new(),
    };
    Core::new(mailbox, reporter, shared.clock.clone(), Fault::default(), shared.settings.clone(), writer)
}

/// Makes all rings: the ends of each subtask, by edge.
fn connect(plan: &Plan, slots: usize, wakers: &[Waker]) -> Vec<EdgeEnds> {
    let mut ends: Vec<EdgeEnds> = wakers.iter().map(|_| EdgeEnds::default()).collect();
    let of = |task: crate::graph::TaskIndex| {
        let planned = &plan.tasks[task.0];
        planned.first_subtask..planned.first_subtask + planned.parallelism.subtasks()
    };
    for (index, edge) in plan.graph.edges.iter().enumerate() {
        let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
        let rings = edge.rings(slots, &wakers[of(from)], &wakers[of(to)]);
        let edge = crate::task::EdgeIndex(index);
        for (subtask, end) in of(from).zip(rings.outputs) {
            ends[subtask].outputs.insert(edge, end);
        }
        for (subtask, end) in of(to).zip(rings.inputs) {
            ends[subtask].inputs.insert(edge, end);
        }
    }
    ends
}
