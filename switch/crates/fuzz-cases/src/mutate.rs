// SPDX-License-Identifier: Apache-2.0
//! Changes to a JSON document that leave it a JSON document.

use crate::bytes::Bytes;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Numbers that are likely to be wrong somewhere.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    8,
    63,
    64,
    65,
    128,
    129,
    2048,
    65_535,
    65_536,
    u32::MAX as u64,
    1 << 60,
    u64::MAX,
];

/// The words of the format, and strings that are likely to be wrong somewhere.
fn words() -> &'static [&'static str] {
    static WORDS: OnceLock<Vec<&str>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let lines = include_str!("../../../fuzz/json.dict").lines();
        lines
            .filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'))
            .collect()
    })
}

/// Removes the positions in the source.
pub fn strip(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(strip),
        Value::Object(members) => {
            members.remove("source_info");
            members.values_mut().for_each(strip);
        }
        _ => {}
    }
}

/// Steps down from the document's root.
const DEPTH: usize = 24;

/// Changes one place of the document, chosen by the bytes.
pub fn mutate(document: &mut Value, bytes: &mut Bytes<'_>) {
    let copied = pick(document, bytes).clone();
    let at = pick_mut(document, bytes);
    match bytes.below(10) {
        0 => *at = Value::Null,
        1 => *at = json!(NUMBERS[bytes.below(NUMBERS.len())]),
        2 => *at = json!(words()[bytes.below(words().len())]),
        3 => *at = json!(format!("0x{:x}", bytes.long())),
        4 => *at = json!(bytes.number()),
        5 => *at = copied,
        6 => match at {
            Value::Array(list) => {
                if !list.is_empty() {
                    list.remove(bytes.below(list.len()));
                }
            }
            Value::Object(members) => {
                let name = members.keys().nth(bytes.below(members.len())).cloned();
                if let Some(name) = name {
                    members.remove(&name);
                }
            }
            other => *other = Value::Bool(bytes.byte() & 1 != 0),
        },
        7 => match at {
            Value::Array(list) => {
                if let Some(one) = list.get(bytes.below(list.len())).cloned() {
                    list.push(one);
                }
            }
            other => *other = Value::Array(vec![other.clone()]),
        },
        8 => match at {
            Value::Array(list) => list.insert(bytes.below(list.len() + 1), copied),
            Value::Object(members) => {
                let name = words()[bytes.below(words().len())];
                members.insert(name.to_owned(), copied);
            }
            other => *other = copied,
        },
        _ => match at {
            Value::Array(list) if list.len() > 1 => {
                let (one, other) = (bytes.below(list.len()), bytes.below(list.len()));
                list.swap(one, other);
            }
            Value::Number(_) => *at = json!(u64::from(bytes.byte())),
            _ => {}
        },
    }
}

/// Goes down from the root; stops where the bytes say, or at a leaf.
fn pick<'d>(document: &'d Value, bytes: &mut Bytes<'_>) -> &'d Value {
    let mut at = document;
    for _ in 0..DEPTH {
        let next = match at {
            Value::Array(list) => list.get(bytes.below(list.len() + 1)),
            Value::Object(members) => members.values().nth(bytes.below(members.len() + 1)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

fn pick_mut<'d>(document: &'d mut Value, bytes: &mut Bytes<'_>) -> &'d mut Value {
    let mut at = document;
    for _ in 0..DEPTH {
        let (inner, size) = match at {
            Value::Array(list) => (true, list.len()),
            Value::Object(members) => (true, members.len()),
            _ => (false, 0),
        };
        let choice = if inner { bytes.below(size + 1) } else { 0 };
        if choice >= size {
            break;
        }
        at = match at {
            Value::Array(list) => &mut list[choice],
            Value::Object(members) => match members.values_mut().nth(choice) {
                Some(next) => next,
                None => unreachable!("the choice is below the size"),
            },
            leaf => return leaf,
        };
    }
    at
}
