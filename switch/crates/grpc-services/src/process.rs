// SPDX-License-Identifier: Apache-2.0
//! The process around the server, as clients may see it.

use std::fmt;
use std::sync::Arc;

use v1model::Program;

use crate::proto::docsis::switch::v1 as switch;

/// What the process around the server tells and lets do.
pub trait Process: fmt::Debug + Send + Sync {
    /// Name, version, time, memory; of devices their ids, and of their ports
    /// the interfaces.
    fn info(&self) -> switch::GetInfoResponse;
    /// The file that a program was loaded from; `None` when clients pushed it.
    fn program_file(&self, program: &Arc<Program>) -> Option<String>;
    /// How much is logged.
    fn log_level(&self) -> switch::LogLevel;
    /// Logs as much from now on; never [`switch::LogLevel::Unspecified`].
    ///
    /// # Errors
    /// One sentence: why that is not possible.
    fn set_log_level(&self, level: switch::LogLevel) -> Result<(), String>;
}
