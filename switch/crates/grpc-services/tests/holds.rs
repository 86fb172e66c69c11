// SPDX-License-Identifier: Apache-2.0
//! Packets wait for no request longer than for a small piece of it. What a piece
//! is, is told by the memory that it takes and frees, which is the same in every
//! run; `examples/holds.rs` measures the time.

mod common;

use common::DEVICE_ID;
use common::large::{self, Sizes, every_request};
use grpc_services::{Limits, ServerOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

struct Counting;

thread_local! {
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// Memory that is taken, copied or freed costs something, and its size more.
fn count(bytes: usize) {
    WORK.with(|n| n.set(n.get() + 1 + bytes as u64 / 4096));
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Large blocks come from the kernel, which clears pages when they are used.
        count(0);
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0);
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // A list that grows is copied; one that shrinks stays where it is.
        count(if size > layout.size() { size } else { 0 });
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a closure may take and free: 64 entries that are copied are some 700.
/// All of a table would be 20 times as much.
const MOST: u64 = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_holds_up_packets_for_more_than_a_piece() {
    let options = ServerOptions {
        limits: Limits {
            // Time is up whenever a closure looks at the clock.
            slice: Duration::ZERO,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let work = || WORK.with(Cell::get);
    let (mut fixture, _stream) = large::start(DEVICE_ID, &options, work).await;
    let sizes = Sizes {
        stations: 3000,
        filters: 1500,
        routes: 3000,
        groups: 1000,
        members: 1000,
    };
    let mut dear = Vec::new();
    every_request(&mut fixture, sizes, |what, pieces, longest| {
        if longest > MOST {
            dear.push(format!("{what}: {longest} in one of {pieces}"));
        }
    })
    .await;
    assert!(dear.is_empty(), "{dear:#?}");
    fixture.stop().await;
}
