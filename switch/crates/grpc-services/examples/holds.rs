// SPDX-License-Identifier: Apache-2.0
//! Measures how long requests hold the thread that forwards packets: for every
//! kind of request, with tables of 100,000 entries and arrays of 131,072 cells,
//! in how many pieces it was done, and the processor time of the longest.
//!
//! `cargo run --release --example holds [-- ENTRIES]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::DEVICE_ID;
use common::large::{self, Sizes, every_request};
use grpc_services::{Limits, ServerOptions};

/// The switch's, with its options.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// See docsis-switch's `allocator`.
// SAFETY: as there.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8] = b"oversize_threshold:0\0";

/// Nanoseconds that this thread has run; what others run meanwhile does not count.
fn processor_time() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a timespec that may be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let entries = std::env::args().nth(1);
    let entries = entries.map_or(100_000, |n| n.parse().expect("a number of entries"));
    let options = ServerOptions {
        limits: Limits {
            // For answers with all entries.
            pool: 512 << 20,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let (mut fixture, _stream) = large::start(DEVICE_ID, &options, processor_time).await;
    let sizes = Sizes {
        stations: entries,
        filters: entries / 20,
        routes: entries,
        groups: entries / 10,
        members: 1000,
    };
    println!("{:44}   pieces   longest", "request");
    every_request(&mut fixture, sizes, |what, pieces, longest| {
        println!("{what:44} {pieces:8}  {:8.1} us", longest as f64 / 1e3);
    })
    .await;
    fixture.stop().await;
}
