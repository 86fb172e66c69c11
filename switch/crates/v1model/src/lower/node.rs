// SPDX-License-Identifier: Apache-2.0
//! The nodes of a pipeline's control graph.

use crate::json::{ActionCallNode, Conditional, SourceInfo, Table};

/// A node of the control graph, as the JSON has it.
#[derive(Clone, Copy)]
pub(super) enum Node<'d> {
    Table(&'d Table),
    Conditional(&'d Conditional),
    Call(&'d ActionCallNode),
}

impl<'d> Node<'d> {
    /// What it is called in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Table(_) => "table",
            Node::Conditional(_) => "condition",
            Node::Call(_) => "call",
        }
    }

    /// All nodes that control may go to from here.
    pub fn next(&self) -> Vec<&'d str> {
        match self {
            Node::Table(table) => {
                let next = table.next_tables.values().chain([&table.base_default_next]);
                next.filter_map(Option::as_deref).collect()
            }
            Node::Conditional(conditional) => {
                let next = [&conditional.true_next, &conditional.false_next];
                next.into_iter().filter_map(Option::as_deref).collect()
            }
            Node::Call(call) => call.next_node.as_deref().into_iter().collect(),
        }
    }

    /// Where it is in the P4 source.
    pub fn source_info(&self) -> &'d Option<SourceInfo> {
        match self {
            Node::Table(table) => &table.source_info,
            Node::Conditional(conditional) => &conditional.source_info,
            Node::Call(_) => &None,
        }
    }
}
