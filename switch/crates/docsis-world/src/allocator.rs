// SPDX-License-Identifier: Apache-2.0
//! The allocator of the world's own memory; the interpreter's stays as it is.
//!
//! What waits in queues is spread over hundreds of megabytes and read once, a while after it was
//! written: a frame costs several look-ups of pages that no cache of the processor knows, and a
//! virtual machine looks each up twice. jemalloc asks for large pages where the system has them on
//! request (`transparent_hugepage/enabled` is `madvise`), and does nothing where it has not. With
//! them `64-modems` took 0.79 to 0.92 of the processor time in five pairs of alternating runs.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// jemalloc reads its options at this name, which the crate's build prefixes. It needs no thread
/// of its own here: nobody waits while it tidies up.
// SAFETY: nothing else has this name; what jemalloc reads is the slice's pointer,
// to a string that ends with 0.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8] = b"thp:always,background_thread:false\0";
