// SPDX-License-Identifier: Apache-2.0
//! The allocator. glibc's tidies up at once what was freed in small pieces, for
//! milliseconds, on whichever thread asks next; on the one that forwards, packets
//! would wait. jemalloc does it bit by bit and gives memory back on a thread of
//! its own, pieces of more than 8 MiB included once its threshold is off.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// jemalloc reads its options at this name, which the crate's build prefixes.
// SAFETY: nothing else has this name; what jemalloc reads is the slice's pointer,
// to a string that ends with 0.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8] = b"oversize_threshold:0\0";
