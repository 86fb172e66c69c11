// SPDX-License-Identifier: Apache-2.0
//! The profile `linux` beside Linux: the traces in `traces` are what the
//! kernel's TCP did when a script lost segments (record.py). Ours gets the
//! same and has to do the same.
//!
//! Three ways: the sender alone with the kernel's ACKs at the kernel's times,
//! the receiver alone with the kernel's data, and both ends with the script.

mod both_ends;
mod differences;
mod receiver;
mod sender;
mod trace;
