// SPDX-License-Identifier: Apache-2.0
//! Programs of benchmarks and samples.

use std::path::Path;
use std::sync::Arc;
use v1model::Program;

/// Reads a compiled program.
///
/// # Errors
/// One sentence that names the file, and the P4 source position where known.
pub fn load(path: &Path) -> Result<Arc<Program>, String> {
    let place = path.display();
    let json =
        std::fs::read(path).map_err(|error| format!("program {place} cannot be read: {error}"))?;
    let program = Program::load(&json).map_err(|error| format!("program {place}: {error}"))?;
    Ok(Arc::new(program))
}
