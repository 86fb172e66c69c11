// SPDX-License-Identifier: Apache-2.0
//! Where events go that are not packets.

use crate::cli::LogLevel;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use tracing::level_filters::LevelFilter;

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Off => LevelFilter::OFF,
    }
}

/// Starts logging, to standard error or to a file. Without a level: warnings,
/// and with `console` or a file normal events, too.
///
/// # Errors
/// One sentence: the file cannot be written.
pub fn start(file: Option<&Path>, level: Option<LogLevel>, console: bool) -> Result<(), String> {
    let default = if console || file.is_some() {
        LogLevel::Info
    } else {
        LogLevel::Warn
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(filter(level.unwrap_or(default)))
        .with_target(false)
        .with_ansi(false);
    match file {
        None => builder.with_writer(std::io::stderr).init(),
        Some(path) => {
            let file = File::create(path).map_err(|error| {
                format!("log file {} cannot be written: {error}", path.display())
            })?;
            builder.with_writer(Mutex::new(file)).init();
        }
    }
    Ok(())
}
