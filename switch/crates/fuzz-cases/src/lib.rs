// SPDX-License-Identifier: Apache-2.0
//! The functions that the fuzzer calls with random bytes. Each of them must return in bounded time
//! and memory, whatever it is given.
//!
//! `switch/fuzz` has a fuzz target for each of them; `tests/it/inputs.rs` calls
//! them with the seeds and with everything that the fuzzer found once.
//! The fuzzer changes programs with [`mutate_json`].

mod bytes;
mod json;
mod mac;
mod mutate;
mod p4runtime;
mod packets;
mod programs;
mod recording;
mod seeds;
mod stf;
mod tcp;

pub use json::{json, mutate_json, without_positions};
pub use mac::mac;
pub use p4runtime::p4runtime;
pub use packets::packets;
pub use programs::PROGRAMS;
pub use recording::recording;
pub use seeds::{regressions, seeds};
pub use stf::stf;
pub use tcp::tcp;

/// A fuzz target: its name, which is also that of its folders of inputs, and
/// the function.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 7] = [
    ("packets", packets),
    ("json", json),
    ("p4runtime", p4runtime),
    ("stf", stf),
    ("tcp", tcp),
    ("recording", recording),
    ("mac", mac),
];
