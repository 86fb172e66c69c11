// SPDX-License-Identifier: Apache-2.0
//! What a packet costs in a pipeline, and what becomes of packets in it: benchmarks and samples of
//! programs, cm.p4 above all, which is provisioned here without a controller.

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
