// SPDX-License-Identifier: Apache-2.0
//! Nothing is allocated on a packet's way through a device, from reception to
//! the interface, once buffers have grown: in all four programs of the
//! benchmark.

use super::programs::Running;
use super::scenario;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends may allocate after its locals are gone.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn packets_do_not_allocate() {
    let build = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build"));
    for make in scenario::ALL {
        for len in [64, 1514] {
            let scenario = make(build, len).unwrap();
            let name = scenario.name;
            let mut running = Running::new(scenario, len);
            // Every buffer of the pools has been used.
            (0..100).for_each(|_| running.chunk());
            let (allocations, frames) = (ALLOCATIONS.with(Cell::get), running.sink.frames);
            (0..20).for_each(|_| running.chunk());
            let forwarded = running.sink.frames - frames;
            assert!(forwarded > 1000, "{name}.p4 forwarded {forwarded}");
            let more = ALLOCATIONS.with(Cell::get) - allocations;
            assert_eq!(more, 0, "{name}.p4, {len} bytes, {forwarded} frames");
        }
    }
}
