// SPDX-License-Identifier: Apache-2.0
//! Operations of a running program on its header stacks.

use crate::code::{Code, HeaderCode};
use crate::stack::Stack;

impl Stack {
    // In the machine's loop these would take the registers that the loop needs.

    /// P4's `push_front`: validity, fields and the place of the bytes move along.
    #[inline(never)]
    pub fn push(&self, by: u16, code: &Code, phv: &mut [u64]) {
        let (first, size) = (usize::from(self.first()), self.size);
        let (stride, by) = (usize::from(self.stride), by.min(size));
        let kept = usize::from(size - by) * stride;
        phv.copy_within(first..first + kept, first + usize::from(by) * stride);
        for header in &self.headers[..usize::from(by) * self.per_element] {
            phv[usize::from(code.headers[*header].valid)] = 0;
        }
        let next = &mut phv[usize::from(self.next)];
        *next = (*next + u64::from(by)).min(u64::from(size));
    }

    /// P4's `pop_front`.
    #[inline(never)]
    pub fn pop(&self, by: u16, code: &Code, phv: &mut [u64]) {
        let (first, size) = (usize::from(self.first()), self.size);
        let (stride, by) = (usize::from(self.stride), by.min(size));
        let end = first + usize::from(size) * stride;
        phv.copy_within(first + usize::from(by) * stride..end, first);
        for header in &self.headers[usize::from(size - by) * self.per_element..] {
            phv[usize::from(code.headers[*header].valid)] = 0;
        }
        let next = &mut phv[usize::from(self.next)];
        *next = next.saturating_sub(u64::from(by));
    }
}

/// The header that the next extraction into a stack fills; none when it is full.
#[inline(never)]
pub(crate) fn next_header(
    code: &Code,
    stack: u16,
    element: u64,
    member: u8,
) -> Option<&HeaderCode> {
    let stack = code.stacks.get(usize::from(stack))?;
    let element = usize::try_from(element).ok()?;
    let at = element.checked_mul(stack.per_element)?;
    let header = stack.headers.get(at.checked_add(usize::from(member))?)?;
    code.headers.get(*header)
}
