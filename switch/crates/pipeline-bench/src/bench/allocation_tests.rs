// SPDX-License-Identifier: Apache-2.0
//! Nothing is allocated on a packet's way through a device, from reception to
//! the interface, once buffers have grown: in all four programs of the
//! benchmark.

use super::programs::Running;
use super::scenario;
use counting_allocator::{Counting, allocations};
use std::path::Path;

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
            let (before, frames) = (allocations(), running.sink.frames);
            (0..20).for_each(|_| running.chunk());
            let forwarded = running.sink.frames - frames;
            assert!(forwarded > 1000, "{name}.p4 forwarded {forwarded}");
            let more = allocations() - before;
            assert_eq!(more, 0, "{name}.p4, {len} bytes, {forwarded} frames");
        }
    }
}
