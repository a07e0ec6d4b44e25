//! The parts of a job, for those who look at its figures.

use crate::checkpoint::SubtaskId;
use crate::graph::{Plan, PlannedTask};
use std::ops::Range;

/// A chain of operators that runs as one, in parallel subtasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDescription {
    /// What it is called: the names of its operators.
    pub name: String,
    /// These names one by one, in the order of the chain.
    pub operators: Vec<String>,
    /// Its subtasks, counted over the whole job.
    pub subtasks: Range<u32>,
}

impl TaskDescription {
    /// Those of a plan, in the order of their subtasks.
    pub(crate) fn of(plan: &Plan) -> Vec<Self> {
        let describe = |(index, task): (usize, &PlannedTask)| {
            let operators = &plan.graph.tasks[index].operators;
            let first = task.first_subtask as u32;
            Self {
                name: task.name.clone(),
                operators: operators.iter().map(|at| plan.graph.operators[at.0].name.clone()).collect(),
                subtasks: first..first + task.parallelism.subtasks() as u32,
            }
        };
        plan.tasks.iter().enumerate().map(describe).collect()
    }

    /// What one of its subtasks is called, as in messages: `sum [3]`.
    pub fn subtask(&self, subtask: SubtaskId) -> String {
        format!("{} [{}]", self.name, subtask.0.saturating_sub(self.subtasks.start))
    }
}

/// The name of a subtask of one of these tasks.
pub fn subtask_name(tasks: &[TaskDescription], subtask: SubtaskId) -> String {
    let task = tasks.iter().find(|task| task.subtasks.contains(&subtask.0));
    task.map_or_else(|| format!("subtask {subtask}"), |task| task.subtask(subtask))
}
