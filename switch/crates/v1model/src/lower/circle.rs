// SPDX-License-Identifier: Apache-2.0
//! Circles among a pipeline's tables and conditions. P4 has no loops in controls, so p4c
//! never writes one; a packet would not leave it, and the device's thread with it.

use super::control::Node;
use super::emit::Label;
use crate::error::LoadError;
use crate::json;
use std::collections::HashMap;

/// How far a node has been looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It is on the way to the node in hand.
    OnTheWay,
    /// No way from it comes back to it.
    Clear,
}

/// # Errors
/// A way from `start` comes back to one of its nodes. The sentence names them in their order;
/// the position is the nearest that the JSON has.
pub(super) fn refuse<'d>(
    pipeline: &str,
    start: Option<&'d str>,
    nodes: &HashMap<&'d str, (Node<'d>, Label)>,
) -> Result<(), LoadError> {
    let mut seen: HashMap<&str, Seen> = HashMap::new();
    // The way to the node in hand, and what is still to be looked at behind each of its nodes.
    let mut way: Vec<(&str, Vec<&str>)> = Vec::new();
    let behind = |name: &str| nodes.get(name).map_or(Vec::new(), |(node, _)| node.next());
    let mut next = start;
    loop {
        if let Some(name) = next {
            match seen.get(name) {
                Some(Seen::Clear) => {}
                Some(Seen::OnTheWay) => return Err(circle(pipeline, name, &way, nodes)),
                None => {
                    seen.insert(name, Seen::OnTheWay);
                    way.push((name, behind(name)));
                }
            }
        }
        let Some((name, left)) = way.last_mut() else {
            return Ok(());
        };
        next = left.pop();
        if next.is_none() {
            seen.insert(name, Seen::Clear);
            way.pop();
        }
    }
}

/// The error for a way whose last node leads back to `to`.
fn circle(
    pipeline: &str,
    to: &str,
    way: &[(&str, Vec<&str>)],
    nodes: &HashMap<&str, (Node, Label)>,
) -> LoadError {
    const NAMED: usize = 8;
    let names = way.iter().map(|(name, _)| *name);
    let circle: Vec<&str> = names.skip_while(|name| *name != to).collect();
    let words = |name: &str| match nodes.get(name) {
        Some((node, _)) => format!("{} {name}", node.kind()),
        None => name.to_owned(),
    };
    let mut named: Vec<String> = circle.iter().take(NAMED).map(|name| words(name)).collect();
    if circle.len() > NAMED {
        named.push(format!("{} more", circle.len() - NAMED));
    }
    named.push(words(to));
    let positions = circle.iter().filter_map(|name| nodes.get(name));
    let position = positions
        .filter_map(|(node, _)| json::position(node.source_info()))
        .next();
    LoadError::new(format!(
        "the {pipeline} pipeline is a circle that a packet would not leave: {}; compile the P4 \
         program again, p4c writes no such thing",
        named.join(", ")
    ))
    .at(position)
}
