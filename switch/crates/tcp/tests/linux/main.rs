// SPDX-License-Identifier: Apache-2.0
//! The profile `linux` beside Linux: the traces in `traces` are what the
//! kernel's TCP did when a script lost segments (record.py). Ours gets the
//! same and has to do the same, but for what `differences.txt` names.
//!
//! Three ways: the sender alone with the kernel's ACKs at the kernel's times,
//! the receiver alone with the kernel's data, and both ends with the script.

mod anew;
mod both_ends;
mod differences;
mod receiver;
mod sender;
mod trace;

use differences::{Found, check};
use trace::{Trace, committed};

/// Compares traces in one aspect.
type Aspect = fn(&[Trace]) -> Found;

/// What is compared, by the names that differences.txt uses.
pub const ASPECTS: [(&str, Aspect); 7] = [
    ("segments", sender::segments),
    ("turns", sender::turns),
    ("window", sender::window),
    ("threshold", sender::threshold),
    ("acks", receiver::acks),
    ("blocks", receiver::blocks),
    ("closed-loop", both_ends::closed_loop),
];

fn compare(aspect: &str) {
    let (name, compare) = ASPECTS
        .iter()
        .find(|(name, _)| *name == aspect)
        .expect("an aspect");
    check(name, &compare(&committed())).unwrap();
}

#[test]
fn segments() {
    compare("segments");
}

#[test]
fn turns() {
    compare("turns");
}

#[test]
fn window() {
    compare("window");
}

#[test]
fn threshold() {
    compare("threshold");
}

#[test]
fn acks() {
    compare("acks");
}

#[test]
fn blocks() {
    compare("blocks");
}

#[test]
fn closed_loop() {
    compare("closed-loop");
}

/// differences.txt names traces and aspects that there are.
#[test]
fn known_differences() {
    let names: Vec<String> = committed().into_iter().map(|trace| trace.name).collect();
    for (trace, aspect) in differences::all() {
        assert!(names.contains(&trace), "no trace {trace}");
        assert!(
            ASPECTS.iter().any(|(name, _)| *name == aspect),
            "no aspect {aspect}"
        );
    }
}
