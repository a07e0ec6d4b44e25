//! The end of loops over random networks and schedules: never while a record is in the loop, and always in the end.

use crate::alignment::{Round, Rounds, Turned};
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Item {
    /// With so much that it may still become.
    Record(u32),
    Marker(Round),
    End,
}

struct Node {
    rounds: Rounds,
    head: bool,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    ended: Vec<bool>,
    finished: bool,
}

struct World {
    channels: Vec<VecDeque<Item>>,
    /// What is still to come on channels from outside.
    outside: Vec<(usize, Vec<Item>)>,
    nodes: Vec<Node>,
    state: u64,
}

/// Tasks of a loop: whether each is a head, whether it has input from outside, and where it leads.
type Network = &'static [(bool, bool, &'static [usize])];

/// A head and a body; the same with a body that has input of its own; a loop in a loop; two loops with a body in common.
const NETWORKS: [Network; 4] = [
    &[(true, true, &[1]), (false, false, &[0])],
    &[(true, true, &[1]), (false, true, &[2]), (false, false, &[0])],
    &[(true, true, &[1]), (true, false, &[2]), (false, false, &[1, 3]), (false, false, &[0])],
    &[(true, true, &[2]), (true, true, &[2]), (false, true, &[0, 1])],
];

impl World {
    fn new(network: Network, width: usize, records: &[u32], seed: u64) -> Self {
        let heads = network.iter().filter(|task| task.0).count() as u32;
        let n = network.len() * width;
        let (mut channels, mut outside) = (Vec::new(), Vec::new());
        let (mut inputs, mut outputs) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (task, (_, from_outside, to)) in network.iter().enumerate() {
            for subtask in 0..width {
                let node = task * width + subtask;
                if *from_outside {
                    inputs[node].push((channels.len(), false));
                    let mut items: Vec<Item> = records.iter().map(|fuel| Item::Record(*fuel)).collect();
                    items.push(Item::End);
                    items.reverse();
                    outside.push((channels.len(), items));
                    channels.push(VecDeque::new());
                }
                for (to, other) in to.iter().flat_map(|to| (0..width).map(move |other| (to, other))) {
                    inputs[to * width + other].push((channels.len(), true));
                    outputs[node].push(channels.len());
                    channels.push(VecDeque::new());
                }
            }
        }
        let node = |(at, (inputs, outputs)): (usize, (Vec<(usize, bool)>, Vec<usize>))| Node {
            rounds: Rounds::new(0, heads, network[at / width].0, inputs.iter().map(|(_, inside)| *inside)),
            head: network[at / width].0,
            ended: vec![false; inputs.len()],
            inputs: inputs.into_iter().map(|(channel, _)| channel).collect(),
            outputs,
            finished: false,
        };
        let nodes = inputs.into_iter().zip(outputs).enumerate().map(node).collect();
        Self { channels, outside, nodes, state: seed | 1 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % n
    }

    fn records(&self) -> usize {
        let inside = self.channels.iter().flatten().filter(|item| matches!(item, Item::Record(_))).count();
        let to_come = self.outside.iter().map(|(_, items)| items.len()).sum::<usize>();
        inside + to_come
    }

    fn send_all(&mut self, node: usize, item: Item) {
        for channel in self.nodes[node].outputs.clone() {
            self.channels[channel].push_back(item);
        }
    }

    fn finish(&mut self, node: usize) {
        if !std::mem::replace(&mut self.nodes[node].finished, true) {
            self.send_all(node, Item::End);
        }
    }

    /// Something drawn happens.
    fn step(&mut self) {
        let what = self.below(self.nodes.len() + self.outside.len());
        if what >= self.nodes.len() {
            let (channel, items) = &mut self.outside[what - self.nodes.len()];
            if let Some(item) = items.pop() {
                self.channels[*channel].push_back(item);
            }
            return;
        }
        let inputs = self.nodes[what].inputs.clone();
        let full: Vec<usize> =
            (0..inputs.len()).filter(|at| !self.channels[inputs[*at]].is_empty()).collect();
        if full.is_empty() {
            if !self.nodes[what].finished
                && let Some(round) = self.nodes[what].rounds.begin()
            {
                self.send_all(what, Item::Marker(round));
            }
            return;
        }
        let at = full[self.below(full.len())];
        match self.channels[inputs[at]].pop_front().expect("it is not empty") {
            Item::Record(fuel) => {
                assert!(!self.nodes[what].finished, "a record behind the end");
                self.nodes[what].rounds.record();
                // It becomes up to two, with less in them together.
                let mut fuel = fuel;
                for _ in 0..self.below(3) {
                    if fuel > 0 {
                        let outputs = self.nodes[what].outputs.clone();
                        let to = outputs[self.below(outputs.len())];
                        let part = self.below(fuel as usize) as u32;
                        self.channels[to].push_back(Item::Record(part));
                        fuel -= part.max(1);
                    }
                }
            }
            Item::Marker(round) => self.nodes[what].rounds.marker(at, round),
            Item::End => {
                self.nodes[what].rounds.end(at);
                self.nodes[what].ended[at] = true;
                if self.nodes[what].ended.iter().all(|ended| *ended) {
                    self.finish(what);
                }
            }
        }
        while let Some(turned) = self.nodes[what].rounds.turn() {
            match turned {
                Turned::On(round) => self.send_all(what, Item::Marker(round)),
                Turned::Over => {
                    assert!(self.nodes[what].head);
                    assert_eq!(self.records(), 0, "there are records in the loop, or may come");
                    self.finish(what);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: super::model::cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_03_a_loop_ends_when_it_is_empty_and_not_before(
        network in 0..NETWORKS.len(),
        width in 1usize..4,
        records in prop::collection::vec(0u32..40, 0..6),
        seed in any::<u64>(),
    ) {
        let mut world = World::new(NETWORKS[network], width, &records, seed);
        let ended = (0..200_000).any(|_| {
            world.step();
            world.nodes.iter().all(|node| node.finished)
        });
        prop_assert!(ended, "the loop does not end");
    }
}
