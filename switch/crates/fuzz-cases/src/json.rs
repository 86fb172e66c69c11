// SPDX-License-Identifier: Apache-2.0
//! The JSON loader: what it takes must run, what it refuses it must refuse
//! without harm.

use crate::bytes::Bytes;
use crate::mutate::mutate;
use crate::packets::run;
use crate::programs::{PROGRAMS, text};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use v1model::Program;

/// Changes made to a program.
const CHANGES: usize = 4;

/// The first of [`PROGRAMS`](crate::PROGRAMS) are large; the small ones are damaged.
const SMALL: usize = 5;

/// The documents without source positions, which are most of their length.
fn documents() -> &'static [Value] {
    static DOCUMENTS: OnceLock<Vec<Value>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| {
        let read = |at: usize| {
            let mut document = serde_json::from_slice(text(at)).unwrap_or_default();
            strip(&mut document);
            document
        };
        (1..=3).chain(SMALL..PROGRAMS.len()).map(read).collect()
    })
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(strip),
        Value::Object(members) => {
            members.remove("source_info");
            members.values_mut().for_each(strip);
        }
        _ => {}
    }
}

/// A program's JSON with a few values changed, or (first byte 0xff) the bytes
/// as they are; then a few frames, when it loads.
pub fn json(data: &[u8]) {
    let mut bytes = Bytes(data);
    let at = bytes.byte();
    if at == 0xff {
        let _ = Program::load(bytes.0);
        return;
    }
    let documents = documents();
    let mut document = documents[usize::from(at) % documents.len()].clone();
    for _ in 0..=bytes.below(CHANGES) {
        mutate(&mut document, &mut bytes);
    }
    let Ok(json) = serde_json::to_vec(&document) else {
        return;
    };
    if let Ok(program) = Program::load(&json) {
        run(Arc::new(program), bytes);
    }
}
