// SPDX-License-Identifier: Apache-2.0
//! `bench`: measures what a packet costs without a network, what load the control plane of a
//! running switch bears, and how late the machine is. And `sample`, which gives a pipeline frames
//! as the benchmarks do. The feature `workbench` builds in all but `bench timers`.

mod timers;
#[cfg(feature = "workbench")]
mod workbench;
#[cfg(not(feature = "workbench"))]
#[path = "left_out.rs"]
mod workbench;

pub use workbench::{run, sample};
