// SPDX-License-Identifier: Apache-2.0
//! Counts the bytes of heap memory that values take, the allocator's own included.

/// How many bytes an allocator takes besides those that it gives.
pub const ALLOCATION: usize = 16;

/// The heap memory of a list, bytes, without what its items hold on the heap themselves.
pub fn list<T>(items: &[T]) -> usize {
    match size_of_val(items) {
        0 => 0,
        bytes => bytes + ALLOCATION,
    }
}
