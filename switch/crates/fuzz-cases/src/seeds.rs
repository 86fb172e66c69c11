// SPDX-License-Identifier: Apache-2.0
//! Finds the inputs that are kept in the repository.

use crate::programs::{PROGRAMS, path};
use std::path::{Path, PathBuf};

/// The files in `switch/fuzz/FOLDER/TARGET`, in order; none when there is no
/// such folder.
fn files(folder: &str, target: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = std::fs::read_dir(path.join(folder).join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The inputs that the fuzzer begins with, which for `json` are the compiled programs themselves.
pub fn seeds(target: &str) -> Vec<PathBuf> {
    match target {
        "json" => PROGRAMS.iter().map(|program| path(program)).collect(),
        _ => files("seeds", target),
    }
}

/// The inputs with which the fuzzer once found a fault.
pub fn regressions(target: &str) -> Vec<PathBuf> {
    files("regressions", target)
}
