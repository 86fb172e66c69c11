// SPDX-License-Identifier: Apache-2.0
//! Benchmarks and samples of programs: what a packet costs in a pipeline, and what becomes of it.
//! Most of them run cm.p4, which is provisioned here without a controller.

mod bench;
mod program;
mod provision;
mod queue_manager;
mod sample;

pub use bench::measure::quantile;
pub use bench::options::{BenchManagers, BenchPipeline, BenchPrograms};
pub use bench::{managers, pipeline, programs};
pub use queue_manager::{ManagersFile, QueueManagers};
pub use sample::options::{Sample, SampleDrops, SampleSessions};
pub use sample::run as sample;
