// SPDX-License-Identifier: Apache-2.0
//! Every test program that has a test beside it: `NAME.p4`, what p4c made of
//! it (`NAME.json`) and `NAME.stf`. That the JSON is of the P4 is what
//! `docsis-p4 p4 check` tells.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use v1model::Program;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../v1model/tests/programs")
}

fn with_extension(extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the folder of test programs is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

#[test]
fn every_program_does_what_its_test_says() {
    let tests = with_extension("stf");
    assert!(tests.len() > 5, "{tests:?}");
    let mut report = String::new();
    for test in tests {
        let name = test.file_name().unwrap_or_default().to_string_lossy();
        let json = std::fs::read(test.with_extension("json")).expect("a test has a program");
        let program = match Program::load(&json) {
            Ok(program) => Arc::new(program),
            Err(e) => {
                report.push_str(&format!("{name}: the program is refused: {e}\n"));
                continue;
            }
        };
        let text = std::fs::read_to_string(&test).expect("a test is text");
        match stf::parse(&text) {
            Ok(script) => {
                let outcome = stf::run(program, &script, &stf::Options::default());
                assert!(outcome.packets > 0, "{name} sends nothing");
                report.push_str(&outcome.text(&name));
            }
            Err(e) => report.push_str(&format!("{name}: {e}\n")),
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn every_program_was_compiled_from_the_source_beside_it() {
    for json in with_extension("json") {
        if json.file_name().is_some_and(|name| name == "manifest.json") {
            continue;
        }
        let name = json.file_stem().unwrap_or_default().to_string_lossy();
        assert!(json.with_extension("p4").is_file(), "{name}.p4 is missing");
        let text = std::fs::read_to_string(&json).expect("the program is text");
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(document["program"], format!("{name}.p4"), "{name}.json");
    }
}
