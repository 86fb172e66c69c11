// SPDX-License-Identifier: Apache-2.0
//! The programs that the fuzzer runs or damages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use v1model::Program;

/// The compiled programs, by their paths from `switch/`. Inputs choose one by its position, so new
/// ones must be appended.
pub const PROGRAMS: [&str; 30] = [
    "../p4src/build/cm.json",
    "crates/v1model/tests/programs/features.json",
    "crates/v1model/tests/programs/expressions.json",
    "crates/v1model/tests/programs/tables.json",
    "../p4src/build/cmts.json",
    "crates/v1model/tests/programs/again.json",
    "crates/v1model/tests/programs/anything.json",
    "crates/v1model/tests/programs/assert_log.json",
    "crates/v1model/tests/programs/checksum.json",
    "crates/v1model/tests/programs/clone.json",
    "crates/v1model/tests/programs/counters.json",
    "crates/v1model/tests/programs/digest.json",
    "crates/v1model/tests/programs/entities.json",
    "crates/v1model/tests/programs/flow_control.json",
    "crates/v1model/tests/programs/hashes.json",
    "crates/v1model/tests/programs/lookahead_verify.json",
    "crates/v1model/tests/programs/match_kinds.json",
    "crates/v1model/tests/programs/meters.json",
    "crates/v1model/tests/programs/multicast.json",
    "crates/v1model/tests/programs/paths.json",
    "crates/v1model/tests/programs/profiles.json",
    "crates/v1model/tests/programs/registers.json",
    "crates/v1model/tests/programs/saturating.json",
    "crates/v1model/tests/programs/stacks.json",
    "crates/v1model/tests/programs/trace.json",
    "crates/v1model/tests/programs/truncate.json",
    "crates/v1model/tests/programs/unions.json",
    "crates/v1model/tests/programs/value_sets.json",
    "crates/v1model/tests/programs/varbit.json",
    "crates/v1model/tests/programs/wide.json",
];

pub(crate) fn path(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(program)
}

/// Reads a program's JSON. It panics if the file is not there, because no input can cause that.
pub fn text(at: usize) -> &'static [u8] {
    static TEXTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let read = |program: &&str| {
            std::fs::read(path(program)).unwrap_or_else(|e| panic!("{program}: {e}"))
        };
        PROGRAMS.iter().map(read).collect()
    });
    &texts[at % texts.len()]
}

/// A loaded program.
pub fn program(at: usize) -> Arc<Program> {
    static LOADED: OnceLock<Vec<Arc<Program>>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let load = |at: usize| {
            let program = Program::load(text(at));
            Arc::new(program.unwrap_or_else(|e| panic!("{}: {e}", PROGRAMS[at])))
        };
        (0..PROGRAMS.len()).map(load).collect()
    });
    Arc::clone(&loaded[at % loaded.len()])
}
