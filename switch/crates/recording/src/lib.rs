// SPDX-License-Identifier: Apache-2.0
//! Keeps a device's inputs and outputs in a file, and plays them again in virtual time.
//!
//! A recording ([`format`], README.md) has every input of a device in the order in which its
//! thread had them, each with the device's time: frames, requests, jumps of time, links. It has
//! every output, too: frames, what the controller was told, drops. [`replay()`] gives the
//! inputs to a new device that nothing moves but the recorded times, and compares the outputs
//! to the nanosecond and the byte.

pub mod format;
mod hash;
mod read;
mod replay;
mod write;

pub use hash::{hash, hash_of_event, hash_of_state};
pub use read::{Damaged, Reader};
pub use replay::{Counted, Difference, Ended, Report, replay};
pub use write::Encoder;
