// SPDX-License-Identifier: Apache-2.0
//! Where the inputs are that are kept.

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

/// What the fuzzer begins with: for `json` the compiled programs themselves.
pub fn seeds(target: &str) -> Vec<PathBuf> {
    match target {
        "json" => PROGRAMS.iter().map(|program| path(program)).collect(),
        _ => files("seeds", target),
    }
}

/// What it once found a fault with.
pub fn regressions(target: &str) -> Vec<PathBuf> {
    files("regressions", target)
}
