// SPDX-License-Identifier: Apache-2.0
//! Counts a thread's allocations, for tests that a packet allocates nothing.
//!
//! A test program makes it its global allocator:
//!
//! ```
//! use counting_allocator::{Counting, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let before = allocations();
//! let list = vec![1, 2, 3];
//! assert_eq!(allocations() - before, 1);
//! # drop(list);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// How often this thread has taken memory, growing and shrinking included.
#[must_use]
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// How many bytes this thread has taken and not given back. It is negative for a thread that gives
/// back what others took.
#[must_use]
pub fn held() -> i64 {
    HELD.with(Cell::get)
}

/// The system's allocator, which counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

/// Counts. A thread that ends may still allocate after its counters are gone, which counts nothing.
fn count(allocations: u64, bytes: i64) {
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + allocations));
    let _ = HELD.try_with(|n| n.set(n.get() + bytes));
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn taking_and_growing_count_and_giving_back_is_known() {
        let (count, bytes) = (allocations(), held());
        let mut list: Vec<u64> = Vec::with_capacity(2);
        assert_eq!((allocations() - count, held() - bytes), (1, 16));
        list.reserve_exact(4);
        assert_eq!((allocations() - count, held() - bytes), (2, 32));
        drop(list);
        assert_eq!((allocations() - count, held() - bytes), (2, 0));
    }
}
