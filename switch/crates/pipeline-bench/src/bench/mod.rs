// SPDX-License-Identifier: Apache-2.0
//! `bench`: what a packet costs in this process, without a network.

#[cfg(test)]
mod allocation_tests;
pub mod managers;
pub mod measure;
mod memory;
pub mod options;
pub mod pipeline;
pub mod programs;
pub mod scenario;
