// SPDX-License-Identifier: Apache-2.0
//! `--trace`: what happens to packets, as text or JSON lines, into a file or to
//! standard output. The formats are `v1model::trace`'s.

use crate::output_file;
use crate::spool::Spools;
use clap::{Args, ValueEnum};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use v1model::trace::{JsonTrace, TextTrace, TraceEvent, TraceFilter, TraceSink};

/// How a trace is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// A block of lines for each packet.
    #[default]
    Text,
    /// A JSON object on a line for each event.
    Json,
}

/// Options of tracing.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// Write what happens to packets into a file, or (`-`) to standard output.
    /// Traced packets take longer.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", group = "traced")]
    pub trace: Option<PathBuf>,
    /// How to write it.
    #[arg(long, value_enum, default_value = "text", requires = "traced")]
    pub trace_format: TraceFormat,
    /// Which packets: `port=N` (again for more ports), `packets=N` (only so
    /// many), `rate=N` (so many a second), separated by commas.
    #[arg(long, value_name = "TERMS", requires = "traced")]
    pub trace_filter: Option<TraceFilter>,
    /// The trace ends at so many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64, requires = "traced")]
    pub trace_limit: u64,
}

/// A trace that several devices may write to.
#[derive(Clone)]
pub struct Trace {
    form: Arc<Mutex<Form>>,
    /// Text names the device, too; JSON always does.
    several: bool,
    device: Option<u64>,
}

type Output = Box<dyn Write + Send>;

/// As `--trace` names standard output.
const STANDARD_OUTPUT: &str = "-";

enum Form {
    Text(TextTrace<Output>),
    Json(JsonTrace<Output>),
}

impl TraceArgs {
    /// The trace, if one is asked for, of a program that may wait for whoever takes it.
    ///
    /// # Errors
    /// One sentence: the file cannot be written.
    pub fn open(&self) -> Result<Option<Trace>, String> {
        let Some(path) = &self.trace else {
            return Ok(None);
        };
        let output: Output = if path == Path::new(STANDARD_OUTPUT) {
            Box::new(io::stdout())
        } else {
            let file = output_file::create(path)
                .map_err(|error| format!("{} cannot be written: {error}", title(path)))?;
            Box::new(file)
        };
        Ok(Some(self.trace(Box::new(BufWriter::new(output)), false)))
    }

    /// The trace, if one is asked for, of a switch, which does not wait. `several`: devices write to
    /// it.
    ///
    /// # Errors
    /// One sentence: the file cannot be written.
    pub fn open_spooled(
        &self,
        several: bool,
        spools: &mut Spools,
    ) -> Result<Option<Trace>, String> {
        let Some(path) = &self.trace else {
            return Ok(None);
        };
        let spool = if path == Path::new(STANDARD_OUTPUT) {
            spools.start("the trace on standard output".into(), io::stdout())?
        } else {
            spools.create(title(path), path)?
        };
        Ok(Some(self.trace(Box::new(spool), several)))
    }

    /// A trace of one device of a switch, in a file of its own.
    ///
    /// # Errors
    /// One sentence: the file cannot be written.
    pub fn open_device(&self, path: &Path, spools: &mut Spools) -> Result<Trace, String> {
        let spool = spools.create(title(path), path)?;
        Ok(self.trace(Box::new(spool), false))
    }

    fn trace(&self, output: Output, several: bool) -> Trace {
        let filter = self.trace_filter.clone().unwrap_or_default();
        let most = self.trace_limit.saturating_mul(1 << 20);
        let form = match self.trace_format {
            TraceFormat::Text => Form::Text(TextTrace::new(output, filter, most)),
            TraceFormat::Json => Form::Json(JsonTrace::new(output, filter, most)),
        };
        Trace {
            form: Arc::new(Mutex::new(form)),
            several,
            device: None,
        }
    }
}

/// A trace's name for messages.
fn title(path: &Path) -> String {
    format!("the trace {}", path.display())
}

impl Trace {
    /// For whoever runs a pipeline outside a switch.
    pub fn sink(&self) -> Box<dyn TraceSink + Send> {
        Box::new(self.clone())
    }

    /// For a device of a switch.
    pub fn of_device(&self, device: u64) -> Box<dyn TraceSink + Send> {
        Box::new(Trace {
            device: Some(device),
            ..self.clone()
        })
    }

    /// Calls `f` with what writes, which knows for which device.
    fn with<R>(&self, f: impl FnOnce(&mut dyn TraceSink) -> R) -> R {
        let mut form = self.form.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *form {
            Form::Text(text) => {
                text.set_device(self.device.filter(|_| self.several));
                f(text)
            }
            Form::Json(json) => {
                json.set_device(self.device);
                f(json)
            }
        }
    }
}

impl TraceSink for Trace {
    fn begin(&mut self, now_ns: u64, port: u16, frame: &[u8]) -> Option<u64> {
        self.with(|sink| sink.begin(now_ns, port, frame))
    }

    fn copy(&mut self, of: u64) -> u64 {
        self.with(|sink| sink.copy(of))
    }

    fn event(&mut self, packet: u64, now_ns: u64, event: &TraceEvent<'_>) {
        self.with(|sink| sink.event(packet, now_ns, event));
    }
}
