// SPDX-License-Identifier: Apache-2.0
//! Programs that ask for more than a machine has are refused by name, before
//! anything is allocated for them.

use serde_json::{Value, json};
use std::path::Path;
use v1model::Program;

fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/features.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn refusal(document: &Value) -> String {
    let json = serde_json::to_vec(document).unwrap();
    match Program::load(&json) {
        Ok(_) => panic!("the program was loaded"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn arrays_that_no_memory_holds() {
    for list in ["register_arrays", "counter_arrays"] {
        let mut bomb = document();
        bomb[list][0]["size"] = json!(1u64 << 60);
        let name = bomb[list][0]["name"].as_str().unwrap().to_owned();
        let words = refusal(&bomb);
        assert!(words.contains(&name), "{words}");
        assert!(words.contains("the size 1152921504606846976"), "{words}");
    }
}

#[test]
fn sizes_that_are_no_sizes() {
    for size in [json!(-1), json!(1e30), json!("many")] {
        let mut bomb = document();
        bomb["register_arrays"][0]["size"] = size.clone();
        let words = refusal(&bomb);
        assert!(words.contains(&size.to_string()), "{words}");
    }
}

#[test]
fn tables_with_more_entries_than_numbers() {
    let mut bomb = document();
    bomb["pipelines"][0]["tables"][0]["max_size"] = json!(1u64 << 62);
    let name = bomb["pipelines"][0]["tables"][0]["name"].as_str().unwrap();
    let words = refusal(&bomb);
    assert!(
        words.contains(&format!("table {name} has the max_size")),
        "{words}"
    );
}

#[test]
fn keys_of_more_fields_or_bits_than_an_entry_may_have() {
    let with = |fields: usize, width: u16| {
        let mut bomb = document();
        bomb["header_types"].as_array_mut().unwrap().push(json!({
            "name": "key_t", "id": 90, "fields": [["f", width, false]],
        }));
        bomb["headers"].as_array_mut().unwrap().push(json!({
            "name": "key", "id": 90, "header_type": "key_t", "metadata": true,
        }));
        let table = &mut bomb["pipelines"][0]["tables"][0];
        table["key"] = (0..fields)
            .map(|n| {
                json!({"match_type": "ternary", "name": format!("k{n}"), "target": ["key", "f"],
                    "mask": null})
            })
            .collect();
        table.as_object_mut().unwrap().remove("entries");
        bomb
    };
    for (fields, width) in [(257, 1), (33, 128)] {
        let words = refusal(&with(fields, width));
        let bits = fields * usize::from(width);
        let wanted = format!("has {fields} fields of {bits} bits in all");
        assert!(words.contains(&wanted), "{words}");
    }
    for (fields, width) in [(256, 16), (32, 128)] {
        let json = serde_json::to_vec(&with(fields, width)).unwrap();
        Program::load(&json).expect("such a key is supported");
    }
}

#[test]
fn headers_wider_than_slots() {
    let mut bomb = document();
    for _ in 0..3 {
        let fields = bomb["header_types"][1]["fields"].as_array_mut().unwrap();
        fields.extend((0..1000).map(|n| json!([format!("bomb{n}"), 65_528, false])));
    }
    let words = refusal(&bomb);
    assert!(words.contains("than are supported"), "{words}");
}

#[test]
fn a_chain_of_parser_states_that_would_exhaust_a_stack() {
    let mut long = document();
    let states = long["parsers"][0]["parse_states"].as_array_mut().unwrap();
    let end = json!({"type": "default", "value": null, "mask": null, "next_state": null});
    for n in 0..20_000 {
        let mut next = end.clone();
        next["next_state"] = json!(format!("chain{}", n + 1));
        states.push(json!({"name": format!("chain{n}"), "transitions": [next]}));
    }
    states.push(json!({"name": "chain20000", "transitions": [end]}));
    // Loaded or refused: it returns.
    let _ = Program::load(&serde_json::to_vec(&long).unwrap());
}
