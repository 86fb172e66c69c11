// SPDX-License-Identifier: Apache-2.0
//! The same packets through BMv2 and through this switch, over generated
//! programs: expressions of random operators and widths, tables of random keys,
//! match kinds and entries. Needs p4c-bm2-ss and simple_switch on PATH, and
//! says so and passes where they are not.
//!
//! `DIFFERENTIAL_SEED` chooses other programs, `DIFFERENTIAL_PROGRAMS` how many.

mod bmv2;
mod expressions;
mod random;
mod tables;

use random::Random;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use v1model::Program;

/// What is generated: P4 source and the frames to send.
struct Case {
    source: String,
    frames: Vec<Vec<u8>>,
}

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

/// What this switch makes of the frames.
fn ours(json: &[u8], frames: &[Vec<u8>]) -> Vec<String> {
    let program = Program::load(json).unwrap_or_else(|e| panic!("the program is refused: {e}"));
    let mut test = String::new();
    for frame in frames {
        let _ = writeln!(test, "packet 0 {}", hex(frame));
    }
    let script = stf::parse(&test).expect("generated STF");
    let outcome = stf::run(Arc::new(program), &script, &stf::Options::default());
    // Nothing is expected, so that every frame is reported.
    let frames = outcome.failures.into_iter().map(|failure| match failure {
        stf::Failure::Unexpected { received, .. } => received,
        other => panic!("{other:?}"),
    });
    frames.collect()
}

fn hex(frame: &[u8]) -> String {
    frame.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Where a test keeps its files; removed when all is well.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn compare(name: &str, generate: impl Fn(&mut Random) -> Case) {
    if let Some(missing) = bmv2::missing() {
        eprintln!("skipped: {missing} is not on PATH");
        return;
    }
    let seed = setting("DIFFERENTIAL_SEED", 1);
    let programs = setting("DIFFERENTIAL_PROGRAMS", 3);
    for n in 0..programs {
        let seed = seed.wrapping_add(n);
        println!("{name}: DIFFERENTIAL_SEED={seed} DIFFERENTIAL_PROGRAMS=1");
        let case = generate(&mut Random::new(seed));
        let folder = folder(&format!("{name}-{seed}"));
        let source = folder.join("program.p4");
        std::fs::write(&source, &case.source).expect("the target folder can be written");
        let json = bmv2::compile(&source);
        let theirs = bmv2::run(&folder, &json, &case.frames);
        let ours = ours(&std::fs::read(&json).expect("p4c wrote it"), &case.frames);
        for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            assert_eq!(
                ours,
                theirs,
                "frame {at} of {name} seed {seed}, {}: ours, then BMv2's; sent was {}",
                source.display(),
                hex(&case.frames[at])
            );
        }
        assert_eq!(ours.len(), theirs.len(), "{name} seed {seed}: frames");
        let _ = std::fs::remove_dir_all(&folder);
    }
}

#[test]
fn expressions_give_what_bmv2_gives() {
    compare("expressions", expressions::generate);
}

#[test]
fn tables_give_what_bmv2_gives() {
    compare("tables", tables::generate);
}
