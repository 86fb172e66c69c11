// SPDX-License-Identifier: Apache-2.0
//! Logs events that are not packets, from a level on. A thread of its own writes the log, because
//! the threads that forward log, too, and must wait neither for a disk nor for somebody who reads
//! standard error.

use crate::cli::LogLevel;
use crate::output_file;
use crate::spool::Spools;
use crate::standard_error::StandardError;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// Libraries whose debug events are about their own insides; with level trace
/// they speak, too.
const LIBRARIES: [&str; 5] = ["h2", "hyper", "hyper_util", "rustls", "tower"];

fn filter(level: LogLevel) -> Targets {
    let own = level_filter(level);
    let theirs = if own == LevelFilter::TRACE {
        own
    } else {
        own.min(LevelFilter::INFO)
    };
    Targets::new()
        .with_default(own)
        .with_targets(LIBRARIES.map(|library| (library, theirs)))
}

fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Off => LevelFilter::OFF,
    }
}

/// How long the end of the process waits for the log at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread that writes the log.
static WRITER: Mutex<Option<Spools>> = Mutex::new(None);

/// Waits until everything that was logged is written, though not for a disk that hangs or a pipe that
/// nobody reads. Events after that are lost. Whoever ends the process calls this, in whatever state
/// that is.
pub fn finish() {
    // The thread that panics may hold the lock.
    let writer = WRITER.try_lock().ok().and_then(|mut writer| writer.take());
    if let Some(writer) = writer {
        writer.close_within(PATIENCE);
    }
}

/// The log that runs, to change its level.
#[derive(Debug)]
pub struct Log {
    handle: reload::Handle<Targets, Registry>,
    level: Mutex<LogLevel>,
}

impl Log {
    /// How much is logged now.
    pub fn level(&self) -> LogLevel {
        match self.level.lock() {
            Ok(level) => *level,
            Err(poisoned) => *poisoned.into_inner(),
        }
    }

    /// Logs as much from now on.
    ///
    /// # Errors
    /// One sentence: the log has ended.
    pub fn set_level(&self, level: LogLevel) -> Result<(), String> {
        self.handle
            .reload(filter(level))
            .map_err(|error| format!("the log level cannot be changed: {error}"))?;
        if let Ok(mut now) = self.level.lock() {
            *now = level;
        }
        Ok(())
    }
}

/// Starts logging, to standard error or to a file. Without a level: warnings,
/// and with `console` or a file normal events, too.
///
/// # Errors
/// One sentence: the file cannot be written, or there is no thread for the log.
pub fn start(file: Option<&Path>, level: Option<LogLevel>, console: bool) -> Result<Log, String> {
    let default = if console || file.is_some() {
        LogLevel::Info
    } else {
        LogLevel::Warn
    };
    let level = level.unwrap_or(default);
    let mut spools = Spools::for_the_log();
    let spool = match file {
        None => spools.start("the log on standard error".into(), StandardError)?,
        Some(path) => {
            let name = format!("log file {}", path.display());
            // To append, because a defect's report is appended, too.
            let file = output_file::create(path)
                .and_then(|_| output_file::append(path))
                .map_err(|error| format!("{name} cannot be written: {error}"))?;
            spools.start(name, file)?
        }
    };
    let log = start_on(Arc::new(spool), level);
    if let Ok(mut writer) = WRITER.lock() {
        *writer = Some(spools);
    }
    Ok(log)
}

fn start_on<W>(writer: W, level: LogLevel) -> Log
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter(level));
    let layer = fmt::layer()
        .with_writer(writer)
        .with_target(false)
        // Of lines that find no room the writing thread tells at the end; to complain about each
        // would take whoever forwards longer than the line.
        .log_internal_errors(false)
        .with_ansi(false);
    // A second log in one process: the first stays.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(layer)
        .try_init();
    Log {
        handle,
        level: Mutex::new(level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn debug_is_about_the_switch_and_trace_about_everything() {
        let debug = filter(LogLevel::Debug);
        assert!(debug.would_enable("docsis_switch::run", &Level::DEBUG));
        assert!(!debug.would_enable("h2::codec", &Level::DEBUG));
        assert!(filter(LogLevel::Trace).would_enable("h2::codec", &Level::TRACE));
        assert!(!filter(LogLevel::Error).would_enable("h2", &Level::INFO));
    }
}
