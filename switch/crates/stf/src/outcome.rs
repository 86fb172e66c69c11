// SPDX-License-Identifier: Apache-2.0
//! What a run gave, for people and for programs.

use crate::compare::{Expected, Received, digits};
use crate::error::Error;
use crate::script::Pattern;
use serde_json::{Value, json};
use std::fmt::Write;

/// A frame that differs from what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of `expect`.
    pub line: u32,
    /// The line of the `packet` that the frame came of.
    pub packet_line: u32,
    /// The port it left through.
    pub port: u16,
    /// Which of the port's expected frames, from 1.
    pub number: usize,
    /// Its pattern.
    pub expected: String,
    /// The frame in hexadecimal digits.
    pub received: String,
    /// The digits that differ, from 0; those that are missing or too many included.
    pub digits: Vec<usize>,
}

/// Why a test failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A statement could not be carried out; the run ended with it.
    Statement(Error),
    /// A frame differs.
    Differs(Difference),
    /// A frame did not come.
    Missing {
        /// The line of `expect`.
        line: u32,
        /// The port.
        port: u16,
        /// Which of the port's expected frames, from 1.
        number: usize,
        /// Its pattern; empty for any frame.
        expected: String,
    },
    /// A frame came that was not expected.
    Unexpected {
        /// The line of the `packet` that it came of.
        line: u32,
        /// The port.
        port: u16,
        /// Which of the port's frames, from 1.
        number: usize,
        /// In hexadecimal digits.
        received: String,
    },
    /// A counter or a `no_packet` that does not hold.
    Check(Error),
}

impl Failure {
    /// The line of the test to look at.
    #[must_use]
    pub fn line(&self) -> u32 {
        match self {
            Failure::Statement(e) | Failure::Check(e) => e.line,
            Failure::Differs(d) => d.line,
            Failure::Missing { line, .. } | Failure::Unexpected { line, .. } => *line,
        }
    }
}

/// What a statement reports, or what BMv2's driver would have passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The statement's line.
    pub line: u32,
    /// One sentence or value.
    pub text: String,
}

/// What a run gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Why it failed; empty: it passed.
    pub failures: Vec<Failure>,
    /// Values that were read, and messages of the program.
    pub notes: Vec<Note>,
    /// What happened to the packets that the failures are about, where asked
    /// for; with the lines of their statements.
    pub traces: Vec<Note>,
    /// Frames that went in.
    pub packets: usize,
    /// Frames that were expected and came as they should.
    pub matched: usize,
}

impl Outcome {
    /// Whether all was as expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// The failures, in words and with the differing digits marked; empty when
    /// there are none. `name` is the test's, in front of each line number.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let mut text = String::new();
        for failure in &self.failures {
            // Writing to a string does not fail.
            let _ = describe(&mut text, name, failure);
        }
        for trace in &self.traces {
            let _ = writeln!(text, "{name}:{}: this packet's way:", trace.line);
            for line in trace.text.lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    /// All of it as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let notes = |notes: &[Note]| {
            let notes = notes.iter();
            notes
                .map(|note| json!({"line": note.line, "text": note.text}))
                .collect::<Vec<_>>()
        };
        json!({
            "passed": self.passed(),
            "packets": self.packets,
            "matched": self.matched,
            "failures": self.failures.iter().map(failure_json).collect::<Vec<_>>(),
            "notes": notes(&self.notes),
            "traces": notes(&self.traces),
        })
    }
}

/// What makes the two frames different.
pub(crate) fn difference(
    port: u16,
    number: usize,
    expected: &Expected,
    received: &Received,
) -> Difference {
    let have = digits(&received.frame);
    let (want, exact) = match &expected.pattern {
        Some(pattern) => (pattern.digits.as_slice(), pattern.exact),
        None => (&[][..], false),
    };
    let end = if exact {
        want.len().max(have.len())
    } else {
        want.len()
    };
    let differing = (0..end).filter(|&at| match (want.get(at), have.get(at)) {
        (Some(b'*'), Some(_)) => false,
        (want, have) => want != have,
    });
    Difference {
        line: expected.line,
        packet_line: received.line,
        port,
        number,
        expected: pattern_text(expected.pattern.as_ref()),
        digits: differing.collect(),
        received: hex(&received.frame),
    }
}

pub(crate) fn pattern_text(pattern: Option<&Pattern>) -> String {
    let Some(pattern) = pattern else {
        return String::new();
    };
    let mut text = String::from_utf8_lossy(&pattern.digits).into_owned();
    if pattern.exact {
        text.push('$');
    }
    text
}

pub(crate) fn hex(frame: &[u8]) -> String {
    String::from_utf8_lossy(&digits(frame)).into_owned()
}

fn describe(out: &mut String, name: &str, failure: &Failure) -> std::fmt::Result {
    let line = failure.line();
    match failure {
        Failure::Statement(error) | Failure::Check(error) => {
            let column = match error.column {
                0 => String::new(),
                column => format!(":{column}"),
            };
            writeln!(out, "{name}:{line}{column}: {}", error.message)
        }
        Failure::Missing {
            port,
            number,
            expected,
            ..
        } => {
            writeln!(
                out,
                "{name}:{line}: frame {number} of port {port} is missing"
            )?;
            if expected.is_empty() {
                writeln!(out, "  expected  any frame")
            } else {
                rows(out, "expected", expected, "", "", &[])
            }
        }
        Failure::Unexpected {
            port,
            number,
            received,
            ..
        } => {
            writeln!(
                out,
                "{name}:{line}: this packet gives a frame through port {port}, its {number}., that is not expected"
            )?;
            rows(out, "received", received, "", "", &[])
        }
        Failure::Differs(d) => {
            let count = d.digits.len();
            let noun = if count == 1 { "digit" } else { "digits" };
            writeln!(
                out,
                "{name}:{line}: frame {} of port {} differs in {count} {noun}, first in byte {} (packet of line {})",
                d.number,
                d.port,
                d.digits.first().map_or(0, |at| at / 2),
                d.packet_line
            )?;
            rows(
                out,
                "expected",
                &d.expected,
                "received",
                &d.received,
                &d.digits,
            )
        }
    }
}

/// Prints one or two rows of digits, 16 bytes a line, with marks below.
fn rows(
    out: &mut String,
    first: &str,
    upper: &str,
    second: &str,
    lower: &str,
    marks: &[usize],
) -> std::fmt::Result {
    const DIGITS: usize = 32;
    let end = upper.len().max(lower.len());
    for start in (0..end).step_by(DIGITS) {
        let offset = start / 2;
        if marks.is_empty() || second.is_empty() {
            writeln!(
                out,
                "  {first:9} {offset:4}  {}",
                spaced(upper, start, DIGITS)
            )?;
            continue;
        }
        let range = start..start + DIGITS;
        let upper = spaced(upper, start, DIGITS);
        let lower = spaced(lower, start, DIGITS);
        if !marks.iter().any(|mark| range.contains(mark)) {
            // Nothing to see in this line.
            writeln!(out, "            {offset:4}  {lower}")?;
            continue;
        }
        let mut row = String::new();
        for at in range {
            row.push(if marks.binary_search(&at).is_ok() {
                '^'
            } else {
                ' '
            });
            if at % 2 == 1 {
                row.push(' ');
            }
        }
        writeln!(out, "  {first:9} {offset:4}  {upper}")?;
        writeln!(out, "  {second:9} {offset:4}  {lower}")?;
        writeln!(out, "                  {}", row.trim_end())?;
    }
    Ok(())
}

/// Digits by twos, from `start` on.
fn spaced(text: &str, start: usize, count: usize) -> String {
    let mut spaced = String::new();
    for (n, digit) in text.chars().skip(start).take(count).enumerate() {
        if n > 0 && n % 2 == 0 {
            spaced.push(' ');
        }
        spaced.push(digit);
    }
    spaced
}

fn failure_json(failure: &Failure) -> Value {
    match failure {
        Failure::Statement(e) => {
            json!({"kind": "statement", "line": e.line, "column": e.column, "message": e.message})
        }
        Failure::Check(e) => json!({"kind": "check", "line": e.line, "message": e.message}),
        Failure::Differs(d) => json!({
            "kind": "differs", "line": d.line, "packet_line": d.packet_line, "port": d.port,
            "number": d.number, "expected": d.expected, "received": d.received,
            "digits": d.digits,
        }),
        Failure::Missing {
            line,
            port,
            number,
            expected,
        } => json!({
            "kind": "missing", "line": line, "port": port, "number": number, "expected": expected,
        }),
        Failure::Unexpected {
            line,
            port,
            number,
            received,
        } => json!({
            "kind": "unexpected", "packet_line": line, "port": port, "number": number,
            "received": received,
        }),
    }
}
