//! Refuses graphs that cannot run, before anything has happened.

use super::{Graph, Link, OperatorNode, loops};
use crate::error::Error;
use millstream_state::key_group::Parallelism;
use std::collections::{HashMap, HashSet};

/// Checks what does not depend on parallelism.
///
/// # Errors
/// The first thing that is wrong, with the operator's name.
pub(super) fn check(graph: &Graph) -> Result<(), Error> {
    if graph.tasks.is_empty() {
        return Err(Error::refuse("job", "no sink", "nothing to run: no stream of this job ends in a sink"));
    }
    for (place, node) in graph.operators.iter().enumerate() {
        if !graph.tasks.iter().any(|task| task.operators.iter().any(|operator| operator.0 == place)) {
            return Err(Error::refuse(
                "job",
                node.name.clone(),
                "the stream behind this operator leads to no sink",
            ));
        }
    }
    for edge in &graph.edges {
        if edge.to.is_none() {
            let from = edge.from.and_then(|task| graph.tasks[task.0].operators.last());
            let name = from.map_or("stream", |operator| &graph.operators[operator.0].name);
            return Err(Error::refuse("job", name, "the stream behind this operator leads to no sink"));
        }
    }
    loops::check(graph)?;
    graph.operators.iter().try_for_each(unique_states)?;
    let mut seen = HashMap::new();
    for node in &graph.operators {
        if let Some(uid) = &node.uid
            && let Some(other) = seen.insert(uid.as_str(), node.name.as_str())
        {
            return Err(Error::refuse(
                "uid",
                uid.clone(),
                format!("given to {other} and to {}: a uid must be unique in a job", node.name),
            ));
        }
    }
    Ok(())
}

/// Checks that no two states of an operator have one name (ST-03).
fn unique_states(node: &OperatorNode) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let names = node.states.iter().map(|state| &state.name).chain(node.lists.iter().map(|list| &list.name));
    for name in names {
        if !seen.insert(name) {
            return Err(Error::refuse(
                "state",
                name.clone(),
                format!("declared twice by {}: the states of an operator need names of their own", node.name),
            ));
        }
    }
    Ok(())
}

/// Checks that tasks linked one to one are equally wide.
///
/// # Errors
/// The pair that is not.
pub(super) fn check_forward(graph: &Graph, widths: &[Parallelism]) -> Result<(), Error> {
    for edge in graph.edges.iter().filter(|edge| edge.link == Link::Forward) {
        if let (Some(from), Some(to)) = (edge.from, edge.to) {
            let (up, down) = (widths[from.0].subtasks(), widths[to.0].subtasks());
            if up != down {
                let name = &graph.operators[graph.tasks[to.0].operators[0].0].name;
                return Err(Error::refuse(
                    "parallelism",
                    name.clone(),
                    format!("{down}, but the stream that was forked has {up}"),
                )
                .with_hint("set the parallelism before `fork`, or `rebalance` behind it"));
            }
        }
    }
    Ok(())
}
