//! A valid graph with everything decided that a start needs: parallelism, key groups, ids.

use super::{Graph, Loops, OwnBackend, TaskIndex, validate};
use crate::checkpoint::SubtaskId;
use crate::error::Error;
use crate::task::{EdgeIndex, OperatorIndex, Target};
use millstream_state::Backend;
use millstream_state::OperatorId;
use millstream_state::descriptor::{BackendName, Layout};
use millstream_state::key_group::Parallelism;
use std::collections::HashMap;

/// A task of a plan.
pub(crate) struct PlannedTask {
    /// What it is called: the names of its operators.
    pub name: String,
    /// Subtasks and key groups.
    pub parallelism: Parallelism,
    /// Key groups, where the user said how many; otherwise a snapshot decides (KG-04).
    pub fixed_max: Option<u32>,
    /// Where the edges that leave it lead.
    pub targets: HashMap<EdgeIndex, Target>,
    /// Number of the first of its subtasks, counted over the whole job.
    pub first_subtask: usize,
    /// Whether no edge enters it.
    pub is_source: bool,
}

/// A job that can be run.
pub(crate) struct Plan {
    pub graph: Graph,
    pub tasks: Vec<PlannedTask>,
    /// By operator.
    pub ids: Vec<OperatorId>,
    /// The task of each operator.
    pub task_of: Vec<TaskIndex>,
    pub loops: Loops,
}

impl Plan {
    /// Has keyed state kept in this way. A backend of the program's own keeps ordered state; the one value of a process
    /// function is in a hash table then. Returns what makes its own backends, where it has one.
    ///
    /// # Errors
    /// The program has no backend of this name (ER-20).
    pub(crate) fn keep_state_in(&mut self, backend: Backend) -> Result<Option<OwnBackend>, Error> {
        for state in self.graph.operators.iter_mut().flat_map(|node| &mut node.states) {
            state.backend = match (backend, state.layout) {
                (Backend::Own(_), Layout::Hashed) => Backend::Hashmap,
                _ => backend,
            };
        }
        let Backend::Own(name) = &backend else { return Ok(None) };
        let registered = self.graph.backends.iter().rev().find(|(own, _)| own == name.as_str());
        if let Some((_, own)) = registered {
            return Ok(Some(own.clone()));
        }
        let all =
            BackendName::BUILT_IN.into_iter().chain(self.graph.backends.iter().map(|(own, _)| own.as_str()));
        let all = all.collect::<Vec<_>>().join(" | ");
        Err(Error::refuse(
            "configuration",
            format!("state.backend.type = {name}"),
            format!("no backend has this name: expected {all}"),
        )
        .with_hint("register it with `Env::state_backend`"))
    }

    /// The names that backends are registered under can be names, and each is given to one.
    ///
    /// # Errors
    /// The name that is not.
    fn check_backends(graph: &Graph) -> Result<(), Error> {
        for (n, (name, _)) in graph.backends.iter().enumerate() {
            let twice = graph.backends[..n].iter().any(|(other, _)| other == name);
            let problem = if BackendName::new(name).is_none() {
                format!(
                    "a backend cannot have this name: it takes 1 to {} bytes, and none of {}",
                    BackendName::LONGEST,
                    BackendName::TAKEN.join(", ")
                )
            } else if twice {
                "two backends are registered under this name".to_owned()
            } else {
                continue;
            };
            return Err(Error::refuse("state backend", name.clone(), problem));
        }
        Ok(())
    }

    /// Decides what the user left open.
    ///
    /// # Errors
    /// What is wrong with the graph, by operator name.
    pub(crate) fn new(graph: Graph, parallelism: i64, max_parallelism: Option<i64>) -> Result<Self, Error> {
        validate::check(&graph)?;
        Self::check_backends(&graph)?;
        let mut task_of = vec![TaskIndex(0); graph.operators.len()];
        for (index, task) in graph.tasks.iter().enumerate() {
            for operator in &task.operators {
                task_of[operator.0] = TaskIndex(index);
            }
        }
        let mut widths = Vec::new();
        for task in &graph.tasks {
            let name = task_name(&graph, &task.operators);
            let width = Parallelism::new(
                task.parallelism.unwrap_or(parallelism),
                task.max_parallelism.or(max_parallelism),
            )
            .map_err(|error| Error::refuse("parallelism", name, error))?;
            widths.push(width);
        }
        validate::check_forward(&graph, &widths)?;
        let mut tasks = Vec::new();
        let mut first_subtask = 0;
        for (task, width) in graph.tasks.iter().zip(&widths) {
            let targets = task
                .outputs
                .iter()
                .filter_map(|edge| Some((*edge, Target(widths[graph.edges[edge.0].to?.0]))))
                .collect();
            tasks.push(PlannedTask {
                name: task_name(&graph, &task.operators),
                parallelism: *width,
                fixed_max: task.max_parallelism.or(max_parallelism).and_then(|max| u32::try_from(max).ok()),
                targets,
                first_subtask,
                is_source: task.inputs.is_empty(),
            });
            first_subtask += width.subtasks();
        }
        let ids = ids(&graph);
        let loops = Loops::of(&graph);
        Ok(Self { graph, tasks, ids, task_of, loops })
    }

    /// Takes over the number of key groups that the snapshot was taken with (KG-04).
    pub(crate) fn adopt_max_parallelism(&mut self, operator: OperatorIndex, width: Parallelism) {
        let task = self.task_of[operator.0];
        self.tasks[task.0].parallelism = width;
        for (edge, node) in self.graph.edges.iter().enumerate() {
            if node.to == Some(task)
                && let Some(from) = node.from
            {
                self.tasks[from.0].targets.insert(EdgeIndex(edge), Target(width));
            }
        }
    }

    /// Number of subtasks of the whole job.
    pub(crate) fn subtasks(&self) -> usize {
        self.tasks.iter().map(|task| task.parallelism.subtasks()).sum()
    }

    /// The widest task's parallelism.
    pub(crate) fn widest(&self) -> usize {
        self.tasks.iter().map(|task| task.parallelism.subtasks()).max().unwrap_or(0)
    }

    /// Task and index of a subtask that is counted over the whole job.
    pub(crate) fn place_of(&self, subtask: SubtaskId) -> (TaskIndex, usize) {
        let place = subtask.0 as usize;
        let task = self.tasks.partition_point(|task| task.first_subtask <= place) - 1;
        (TaskIndex(task), place - self.tasks[task].first_subtask)
    }

    /// The task of an operator.
    pub(crate) fn task_of(&self, operator: OperatorIndex) -> &PlannedTask {
        &self.tasks[self.task_of[operator.0].0]
    }
}

fn task_name(graph: &Graph, operators: &[OperatorIndex]) -> String {
    let names: Vec<&str> =
        operators.iter().map(|operator| graph.operators[operator.0].name.as_str()).collect();
    names.join(" -> ")
}

/// Ids of all operators. A generated one depends on the operator's place, its kind and its state, so that state can
/// only ever be found by an operator of the same kind with the same state (UI-02).
fn ids(graph: &Graph) -> Vec<OperatorId> {
    graph
        .operators
        .iter()
        .enumerate()
        .map(|(place, node)| match &node.uid {
            Some(uid) => OperatorId::of_uid(uid),
            None => {
                let states: Vec<&str> = node.states.iter().map(|state| state.name.as_str()).collect();
                OperatorId::generated(format!("{place}/{}/{}", node.kind, states.join("/")).as_bytes())
            }
        })
        .collect()
}
