// SPDX-License-Identifier: Apache-2.0
//! What the machine tells while it runs.
//!
//! The machine is compiled once for each tracer. With [`Off`] every call below
//! is behind a constant `false`, so packets pay nothing for it. A tracer that
//! is on runs `Program::traced`: the same program lowered with `Op::Mark`
//! where states, actions, statements and conditions begin, and not optimised,
//! so that nothing a mark stands for is merged or moved.

use crate::op::Slot;
use crate::schema::EntryKey;

/// Follows one run of the machine.
pub(crate) trait Tracer {
    /// Whether anything is to be told; calls are behind `if T::ENABLED`.
    const ENABLED: bool;

    /// The parser, ingress or egress begins.
    fn pass(&mut self, name: &'static str);

    /// `Op::Mark` was reached.
    fn mark(&mut self, place: u32, phv: &[u64]);

    /// A table was looked up and gave this entry, or its default entry, with
    /// this action (index into the table's actions).
    fn applied(
        &mut self,
        table: usize,
        entry: Option<&EntryKey>,
        action: u16,
        args: &[u64],
        phv: &[u64],
    );

    /// The action of a table is at its end.
    fn returned(&mut self);

    /// The parser stops with this error.
    fn parser_error(&mut self, error: u64);

    /// `mark_to_drop` put the drop port into a slot: `egress_spec`, or a copy of it.
    fn marked_to_drop(&mut self, spec: Slot);

    /// An assertion failed.
    fn assertion_failed(&mut self);
}

/// Tells nothing, at no cost.
pub(crate) struct Off;

impl Tracer for Off {
    const ENABLED: bool = false;

    fn pass(&mut self, _: &'static str) {}

    fn mark(&mut self, _: u32, _: &[u64]) {}

    fn applied(&mut self, _: usize, _: Option<&EntryKey>, _: u16, _: &[u64], _: &[u64]) {}

    fn returned(&mut self) {}

    fn parser_error(&mut self, _: u64) {}

    fn marked_to_drop(&mut self, _: Slot) {}

    fn assertion_failed(&mut self) {}
}
