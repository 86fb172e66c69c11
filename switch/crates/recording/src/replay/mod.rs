// SPDX-License-Identifier: Apache-2.0
//! Plays a recording again, in virtual time.

mod compare;
mod engine;
mod journal;
mod report;

use crate::format::{Header, Record};
use crate::read::{Damaged, Reader};
use engine::Engine;
use std::io::Read;

pub use report::{Counted, Difference, Ended, Report};

/// Gives a new device what the recorded one was given, each thing at its recorded time, and
/// compares what it gives. Ends at the first difference; what follows it is counted.
///
/// # Errors
/// The file is damaged, or its program cannot be loaded.
pub fn replay<R: Read>(header: &Header, reader: &mut Reader<R>) -> Result<Report, Damaged> {
    let mut engine = Engine::new(header).map_err(|words| Damaged { words, offset: 0 })?;
    let mut end = None;
    while let Some(record) = reader.record()? {
        engine.report.counted.note(&record);
        match record {
            Record::End(how) => end = Some(how),
            _ if engine.report.difference.is_some() => {}
            Record::Output(output) => engine.expect(output),
            Record::Input(input) => engine.give(input),
        }
    }
    Ok(engine.finish(end))
}
