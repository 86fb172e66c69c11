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
    let kind = bytes.below(11);
    if kind == 10 {
        return name_varbit(document, bytes);
    }
    let at = pick_mut(document, bytes);
    match kind {
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

/// Lets a statement or an expression name a varbit field, whose slot holds no number. Where the
/// document has none, it makes one.
fn name_varbit(document: &mut Value, bytes: &mut Bytes<'_>) {
    if varbits(document).is_empty() {
        let mut fields = Vec::new();
        let types = document.get_mut("header_types");
        for kind in types.and_then(Value::as_array_mut).into_iter().flatten() {
            let own = kind.get_mut("fields").and_then(Value::as_array_mut);
            fields.extend(own.into_iter().flatten());
        }
        let at = bytes.below(fields.len());
        if let Some(width) = fields.get_mut(at).and_then(|field| field.get_mut(1)) {
            *width = json!("*");
        }
    }
    let varbits = varbits(document);
    let mut operands = Vec::new();
    fields_named(document, &mut operands);
    let (varbit, operand) = (bytes.below(varbits.len()), bytes.below(operands.len()));
    if let (Some(varbit), Some(operand)) = (varbits.get(varbit), operands.get_mut(operand)) {
        **operand = varbit.clone();
    }
}

/// The varbit fields of headers, as operands name them.
fn varbits(document: &Value) -> Vec<Value> {
    let members = |value: &Value, name: &str| {
        let list = value.get(name).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let mut found = Vec::new();
    for kind in members(document, "header_types") {
        let fields = members(&kind, "fields");
        let own = fields
            .iter()
            .filter(|field| field.get(1) == Some(&json!("*")));
        for field in own.filter_map(|field| field.get(0)) {
            let headers = members(document, "headers");
            let of_kind = headers
                .iter()
                .filter(|h| h.get("header_type") == kind.get("name"));
            found.extend(of_kind.filter_map(|h| Some(json!([h.get("name")?, field]))));
        }
    }
    found
}

/// The values of all operands that name a field.
fn fields_named<'d>(value: &'d mut Value, found: &mut Vec<&'d mut Value>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|one| fields_named(one, found)),
        Value::Object(members) => {
            let is_field = members.get("type").is_some_and(|kind| kind == "field");
            for (name, member) in members {
                if is_field && name == "value" {
                    found.push(member);
                } else {
                    fields_named(member, found);
                }
            }
        }
        _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn statements_come_to_name_varbit_fields() {
        let document = || {
            let statement = |op: &str| json!({"op": op, "parameters": [{"type": "field", "value": ["a", "number"]}]});
            json!({
                "header_types": [{"name": "t", "fields": [["number", 8, false], ["bits", "*"]]}],
                "headers": [{"name": "a", "header_type": "t"}, {"name": "b", "header_type": "t"}],
                "actions": [statement("register_read"), statement("random")],
            })
        };
        let mut found = BTreeSet::new();
        for choice in 0..32u8 {
            let mut changed = document();
            name_varbit(&mut changed, &mut Bytes(&[choice % 2, choice / 2]));
            for action in changed["actions"].as_array().unwrap() {
                let value = &action["parameters"][0]["value"];
                if value[1] == "bits" {
                    found.insert(format!("{} {}", action["op"], value[0]));
                }
            }
        }
        assert_eq!(found.len(), 4, "{found:?}");
        // A document without a varbit field gets one.
        let mut changed = document();
        changed["header_types"][0]["fields"] = json!([["number", 8, false]]);
        name_varbit(&mut changed, &mut Bytes(&[]));
        assert_eq!(varbits(&changed).len(), 2);
    }
}
