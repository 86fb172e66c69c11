// SPDX-License-Identifier: Apache-2.0
//! The allocator. glibc's tidies up at once what was freed in small pieces, for
//! milliseconds, on whichever thread asks next; on the one that forwards, packets
//! would wait. jemalloc does it bit by bit and gives memory back on a thread of
//! its own, pieces of more than 8 MiB included once its threshold is off. Within about a second: what
//! long requests leave is soon as much again as what they may take at a time.

use crate::privileges;
use std::ffi::c_void;
use std::ptr::null_mut;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// jemalloc reads its options at this name, which the crate's build prefixes. Its thread is not to
/// be there before main, with all privileges: [`tidy_up`] starts it.
// SAFETY: nothing else has this name; what jemalloc reads is the slice's pointer,
// to a string that ends with 0.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8] = b"oversize_threshold:0,background_thread:false,narenas:4,dirty_decay_ms:1000,muzzy_decay_ms:0\0";

/// Starts the thread that gives memory back, without privileges.
pub fn tidy_up() {
    let started = std::thread::Builder::new().spawn(|| {
        // Threads have the privileges of who starts them.
        privileges::none();
        let mut on = true;
        // SAFETY: a name that ends with 0; the option is a bool, which lives through the call, and
        // its size is passed with it.
        let status = unsafe {
            tikv_jemalloc_sys::mallctl(
                c"background_thread".as_ptr(),
                null_mut(),
                null_mut(),
                (&raw mut on).cast::<c_void>(),
                size_of::<bool>(),
            )
        };
        status == 0
    });
    let is_on = started.is_ok_and(|thread| thread.join().unwrap_or(false));
    if !is_on {
        tracing::warn!("memory that is not needed any more is given back late");
    }
}
