// SPDX-License-Identifier: Apache-2.0
//! The tests of devices in virtual time: one program, which is linked once. `allocation.rs` has an
//! allocator of its own and stays a program of its own.

#[path = "../common/mod.rs"]
mod common;

mod acks;
mod adaptive_red;
mod balance;
mod codel;
mod codel_002;
mod codel_dt;
mod controller_silent;
mod departure_rate;
mod device;
mod digests;
mod flow_queues;
mod grants;
mod idle;
mod lengths;
mod loop_back;
mod lred;
mod paths;
mod pie;
mod pie_002;
mod requests;
mod resynchronize;
mod sub_queues;
mod switching;
mod time;
mod token_bucket;
mod trace;
