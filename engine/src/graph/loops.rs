//! Loops of the job graph: which tasks and edges are part of one, and whether checkpoints may be taken of it.

use super::{Graph, Link};
use crate::config::Checkpointing;
use crate::error::Error;
use crate::task::EdgeIndex;

/// A loop that a task is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// Its number in the job.
    pub index: u32,
    /// Tasks that something is fed back to in it.
    pub heads: u32,
}

/// The loops of a job. Loops that have a task in common are one.
pub(crate) struct Loops {
    /// By task.
    tasks: Vec<Option<Loop>>,
    /// By edge: whether it leads from a task of a loop to one of the same.
    inside: Vec<bool>,
}

impl Loops {
    pub(crate) fn of(graph: &Graph) -> Self {
        let reached: Vec<Vec<bool>> = (0..graph.tasks.len()).map(|task| reachable(graph, task)).collect();
        let together = |a: usize, b: usize| reached[a][b] && reached[b][a];
        let mut tasks = vec![None; graph.tasks.len()];
        let mut index = 0;
        for task in 0..tasks.len() {
            if tasks[task].is_some() || !reached[task][task] {
                continue;
            }
            let members: Vec<usize> = (0..tasks.len()).filter(|other| together(task, *other)).collect();
            let is_head = |task: &&usize| {
                graph.tasks[**task].inputs.iter().any(|edge| graph.edges[edge.0].link == Link::Feedback)
            };
            let heads = members.iter().filter(is_head).count() as u32;
            members.iter().for_each(|member| tasks[*member] = Some(Loop { index, heads }));
            index += 1;
        }
        let inside = graph.edges.iter().map(|edge| match (edge.from, edge.to) {
            (Some(from), Some(to)) => tasks[from.0].is_some() && tasks[from.0] == tasks[to.0],
            _ => false,
        });
        Self { inside: inside.collect(), tasks }
    }

    /// The loop of a task.
    pub(crate) fn of_task(&self, task: usize) -> Option<Loop> {
        self.tasks[task]
    }

    /// Whether an edge is part of a loop.
    pub(crate) fn is_inside(&self, edge: EdgeIndex) -> bool {
        self.inside[edge.0]
    }
}

/// The tasks that can be reached from a task over at least one edge.
fn reachable(graph: &Graph, from: usize) -> Vec<bool> {
    let (mut reached, mut next) = (vec![false; graph.tasks.len()], vec![from]);
    while let Some(task) = next.pop() {
        for edge in &graph.tasks[task].outputs {
            if let Some(to) = graph.edges[edge.0].to
                && !std::mem::replace(&mut reached[to.0], true)
            {
                next.push(to.0);
            }
        }
    }
    reached
}

/// Checks that what is fed back comes from the loop that it is fed back to.
///
/// # Errors
/// The head of the loop where it does not.
pub(super) fn check(graph: &Graph) -> Result<(), Error> {
    let loops = Loops::of(graph);
    for (at, edge) in feedback(graph) {
        if !loops.is_inside(at) {
            let name = edge.to.map_or("iterate", |task| head_name(graph, task.0));
            return Err(Error::refuse(
                "job",
                name,
                "the stream that is fed back does not come from this loop",
            ));
        }
    }
    Ok(())
}

/// Checks that the user wants checkpoints of a loop (IT-01, ER-13), and barriers that overtake in one (UC-07, ER-14).
///
/// # Errors
/// The head of the first loop, and the switch.
pub(crate) fn check_checkpoints(graph: &Graph, settings: &Checkpointing) -> Result<(), Error> {
    let Some((_, edge)) = feedback(graph).next().filter(|_| settings.enabled()) else { return Ok(()) };
    let name = edge.to.map_or("iterate", |task| head_name(graph, task.0));
    if !settings.iterations_forced {
        let cause = "checkpoints of a job with a loop are refused: records in flight in the loop are lost at a failure, \
                     unless they are made part of each checkpoint, however many they are";
        return Err(Error::refuse("checkpointing", name, cause).with_hint(
            "set execution.checkpointing.iterations.forced = true: they are part of each checkpoint then, and none is lost",
        ));
    }
    if settings.aligned_timeout().is_some() && !settings.unaligned_forced {
        let cause = "unaligned checkpoints of a job with a loop are refused: what is in flight everywhere in the loop is part \
                     of each of them then, not only what is being fed back";
        return Err(Error::refuse("checkpointing", name, cause)
            .with_hint("set execution.checkpointing.unaligned.forced = true, or leave checkpoints aligned"));
    }
    Ok(())
}

fn feedback(graph: &Graph) -> impl Iterator<Item = (EdgeIndex, &super::Edge)> {
    let edges = graph.edges.iter().enumerate().map(|(at, edge)| (EdgeIndex(at), edge));
    edges.filter(|(_, edge)| edge.link == Link::Feedback)
}

fn head_name(graph: &Graph, task: usize) -> &str {
    graph.tasks[task].operators.first().map_or("iterate", |head| &graph.operators[head.0].name)
}
