// SPDX-License-Identifier: Apache-2.0
//! The process around the server, as clients may see it.

use std::fmt;
use std::sync::Arc;

use v1model::Program;

use crate::proto::docsis::switch::v1 as switch;

/// The process around the server, as far as clients may look at it and change it.
pub trait Process: fmt::Debug + Send + Sync {
    /// The name, version, time and memory of the process, the ids of its devices, and the
    /// interfaces of their ports.
    fn info(&self) -> switch::GetInfoResponse;
    /// The file that a program was loaded from; `None` when clients pushed it.
    fn program_file(&self, program: &Arc<Program>) -> Option<String>;
    /// The log level.
    fn log_level(&self) -> switch::LogLevel;
    /// Sets the log level, which is never [`switch::LogLevel::Unspecified`].
    ///
    /// # Errors
    /// One sentence that says why that is not possible.
    fn set_log_level(&self, level: switch::LogLevel) -> Result<(), String>;
}
