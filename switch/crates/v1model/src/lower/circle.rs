// SPDX-License-Identifier: Apache-2.0
//! Circles: in any graph, and among a pipeline's tables and conditions. P4 has no loops in
//! controls, so p4c never writes one; a packet would not leave it, and the device's thread with it.

use super::emit::Label;
use super::node::Node;
use crate::error::LoadError;
use crate::json;
use std::collections::HashMap;

/// How far a node has been looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    /// It is on the way to the node in hand.
    OnTheWay,
    /// No way from it comes back to it.
    Clear,
}

/// Looks for circles in a graph, depth first, at each of its nodes once.
pub(super) struct Search {
    /// By node.
    seen: Vec<Seen>,
}

impl Search {
    /// In a graph of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Search {
            seen: vec![Seen::No; nodes],
        }
    }

    /// The nodes of the first circle that is found among those that `start` leads to, in their
    /// order, unless they were looked at before; `next` has the nodes that one leads to.
    pub fn circle(
        &mut self,
        start: usize,
        mut next: impl FnMut(usize) -> Vec<usize>,
    ) -> Option<Vec<usize>> {
        // The way to the node in hand, and what is still to be looked at behind each of its nodes.
        let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut in_hand = Some(start);
        loop {
            if let Some(node) = in_hand {
                match self.seen[node] {
                    Seen::Clear => {}
                    Seen::OnTheWay => {
                        let nodes = way.iter().map(|(node, _)| *node);
                        return Some(nodes.skip_while(|on_way| *on_way != node).collect());
                    }
                    Seen::No => {
                        self.seen[node] = Seen::OnTheWay;
                        way.push((node, next(node)));
                    }
                }
            }
            let (node, left) = way.last_mut()?;
            in_hand = left.pop();
            if in_hand.is_none() {
                self.seen[*node] = Seen::Clear;
                way.pop();
            }
        }
    }
}

/// # Errors
/// A way from `start` comes back to one of its nodes. The sentence names them in their order;
/// the position is the nearest that the JSON has.
pub(super) fn refuse(
    pipeline: &str,
    start: Option<&str>,
    nodes: &HashMap<&str, (Node, Label)>,
) -> Result<(), LoadError> {
    let names: Vec<&str> = nodes.keys().copied().collect();
    let numbers = names.iter().enumerate().map(|(n, name)| (*name, n));
    let numbers: HashMap<&str, usize> = numbers.collect();
    let next = |n: usize| {
        let next = nodes[names[n]].0.next().into_iter();
        next.filter_map(|name| numbers.get(name).copied()).collect()
    };
    let start = start.and_then(|name| numbers.get(name));
    match start.and_then(|start| Search::new(names.len()).circle(*start, next)) {
        None => Ok(()),
        Some(found) => {
            let found = found.into_iter().map(|n| (names[n], nodes[names[n]].0));
            Err(circle(pipeline, &found.collect::<Vec<_>>()))
        }
    }
}

/// The error for a circle of nodes, each with its name.
fn circle(pipeline: &str, nodes: &[(&str, Node)]) -> LoadError {
    const NAMED: usize = 8;
    let words = |(name, node): &(&str, Node)| format!("{} {name}", node.kind());
    let mut named: Vec<String> = nodes.iter().take(NAMED).map(words).collect();
    if nodes.len() > NAMED {
        named.push(format!("{} more", nodes.len() - NAMED));
    }
    named.extend(nodes.first().map(words));
    let position = nodes
        .iter()
        .find_map(|(_, node)| json::position(node.source_info()));
    LoadError::new(format!(
        "the {pipeline} pipeline is a circle that a packet would not leave: {}; compile the P4 \
         program again, p4c writes no such thing",
        named.join(", ")
    ))
    .at(position)
}
