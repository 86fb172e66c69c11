// SPDX-License-Identifier: Apache-2.0
//! `docsis-switch stf`: runs tests in p4c's simple test format.

use crate::cli::StfArgs;
use crate::trace::Trace;
use ::stf::Outcome;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use v1model::{LoadOptions, Program};

/// Prints a line. Whoever reads may have had enough, as `head`.
macro_rules! say {
    ($($text:tt)*) => {
        drop(writeln!(std::io::stdout(), $($text)*))
    };
}

/// Something could not be read.
const UNREADABLE: u8 = 2;

/// A program and its test.
#[derive(Debug, PartialEq, Eq)]
struct Pair {
    program: PathBuf,
    test: PathBuf,
}

/// What became of a pair.
enum Verdict {
    Ran(Outcome),
    /// The program or the test is no good; one sentence.
    Refused(String),
    /// One sentence.
    Unreadable(String),
}

/// Runs the tests and prints what differs.
pub fn run(args: &StfArgs) -> ExitCode {
    let pairs = match pairs(&args.files) {
        Ok(pairs) => pairs,
        Err(sentence) => {
            eprintln!("docsis-switch: {sentence}");
            return ExitCode::from(UNREADABLE);
        }
    };
    let trace = match args.trace.open() {
        Ok(trace) => trace,
        Err(sentence) => {
            eprintln!("docsis-switch: {sentence}");
            return ExitCode::from(UNREADABLE);
        }
    };
    let mut status = 0;
    let mut passed = 0;
    let mut results = Vec::new();
    for pair in &pairs {
        let verdict = run_pair(pair, args, trace.as_ref());
        match &verdict {
            Verdict::Ran(outcome) if outcome.passed() => passed += 1,
            Verdict::Ran(_) | Verdict::Refused(_) => status = status.max(1),
            Verdict::Unreadable(_) => status = UNREADABLE,
        }
        if args.json {
            results.push(as_json(pair, &verdict));
        } else {
            print(pair, &verdict);
        }
    }
    if args.json {
        // One test gives one object, as many give a list.
        let one = if pairs.len() == 1 {
            results.pop()
        } else {
            None
        };
        say!("{}", one.unwrap_or(Value::Array(results)));
    } else if pairs.len() > 1 {
        say!("{passed} of {} tests passed", pairs.len());
    }
    ExitCode::from(status)
}

/// Programs and tests in turn, or folders in which they have the same name.
fn pairs(files: &[PathBuf]) -> Result<Vec<Pair>, String> {
    let mut pairs = Vec::new();
    let mut files = files.iter();
    while let Some(first) = files.next() {
        if first.is_dir() {
            pairs.extend(in_folder(first)?);
            continue;
        }
        let Some(test) = files.next() else {
            return Err(format!(
                "{} has no test; give PROGRAM.json TEST.stf, or a folder with both",
                first.display()
            ));
        };
        pairs.push(Pair {
            program: first.clone(),
            test: test.clone(),
        });
    }
    Ok(pairs)
}

fn in_folder(folder: &Path) -> Result<Vec<Pair>, String> {
    let unreadable = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut pairs = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let test = entry.map_err(unreadable)?.path();
        if test.extension().is_some_and(|ext| ext == "stf") {
            let program = test.with_extension("json");
            pairs.push(Pair { program, test });
        }
    }
    if pairs.is_empty() {
        return Err(format!("there is no *.stf in {}", folder.display()));
    }
    pairs.sort_by(|a, b| a.test.cmp(&b.test));
    Ok(pairs)
}

fn run_pair(pair: &Pair, args: &StfArgs, trace: Option<&Trace>) -> Verdict {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
    };
    let (json, text) = match (read(&pair.program), read(&pair.test)) {
        (Ok(json), Ok(text)) => (json, text),
        (Err(sentence), _) | (_, Err(sentence)) => return Verdict::Unreadable(sentence),
    };
    let load = LoadOptions {
        bmv2_quirks: args.bmv2_quirks,
        ..LoadOptions::default()
    };
    let program = match Program::load_with(&json, &load) {
        Ok(program) => Arc::new(program),
        Err(e) => {
            return Verdict::Refused(format!("{} is refused: {e}", pair.program.display()));
        }
    };
    let script = match ::stf::parse(&String::from_utf8_lossy(&text)) {
        Ok(script) => script,
        Err(e) => return Verdict::Refused(format!("{}: {e}", pair.test.display())),
    };
    let options = ::stf::Options {
        drop_port: args.drop_port,
        cpu_port: args.cpu_port,
        seed: args.seed,
        explain: args.explain,
    };
    let sink = trace.map(Trace::sink);
    Verdict::Ran(::stf::run_traced(program, &script, &options, sink))
}

fn print(pair: &Pair, verdict: &Verdict) {
    let name = pair.test.display().to_string();
    match verdict {
        Verdict::Unreadable(sentence) => eprintln!("docsis-switch: {sentence}"),
        Verdict::Refused(sentence) => say!("FAILED {name}\n{sentence}"),
        Verdict::Ran(outcome) => {
            for note in &outcome.notes {
                say!("{name}:{}: {}", note.line, note.text);
            }
            if outcome.passed() {
                say!(
                    "passed {name}: {} packets in, {} as expected",
                    outcome.packets,
                    outcome.matched
                );
            } else {
                say!("FAILED {name}");
                print!("{}", outcome.text(&name));
            }
        }
    }
}

fn as_json(pair: &Pair, verdict: &Verdict) -> Value {
    let mut result = match verdict {
        Verdict::Ran(outcome) => outcome.json(),
        Verdict::Refused(sentence) | Verdict::Unreadable(sentence) => {
            json!({"passed": false, "error": sentence})
        }
    };
    result["program"] = json!(pair.program.display().to_string());
    result["test"] = json!(pair.test.display().to_string());
    result
}
