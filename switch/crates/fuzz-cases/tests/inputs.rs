// SPDX-License-Identifier: Apache-2.0
//! Every seed of the fuzzer, and every input that it once found a fault with.

use fuzz_cases::TARGETS;
use std::fs;
use std::path::{Path, PathBuf};

/// The inputs of a target in `switch/fuzz/FOLDER`.
fn inputs(folder: &str, target: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = fs::read_dir(path.join(folder).join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

#[test]
fn no_known_input_does_harm() {
    for (target, run) in TARGETS {
        let mut count = 0;
        for path in ["seeds", "regressions"]
            .iter()
            .flat_map(|f| inputs(f, target))
        {
            // The name is in the output when the test fails.
            println!("{}", path.display());
            run(&fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "there are no inputs for {target}");
    }
}
