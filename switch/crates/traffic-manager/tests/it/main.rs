// SPDX-License-Identifier: Apache-2.0
//! The tests of both traffic managers: one program, which is linked once. `allocation.rs` has an
//! allocator of its own and stays a program of its own.

#[path = "../plain/mod.rs"]
mod plain;
#[path = "../turns/mod.rs"]
mod turns;
#[path = "../wishes/mod.rs"]
mod wishes;

mod acks;
mod framing;
mod grants;
mod limits;
mod packets;
mod reserved;
mod reshaping;
mod shaping;
mod shares;
mod sharing;
mod sub_queues;
mod whole_backlogs;
