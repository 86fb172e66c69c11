// SPDX-License-Identifier: Apache-2.0
//! What is not supported, or no program at all, is refused at load by name.

use crate::common::outcome_at;
use std::sync::Arc;
use v1model::{Pipeline, Program};

fn refused(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let text = include_str!("../programs/features.json");
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    change(&mut json);
    Program::load(json.to_string().as_bytes())
        .expect_err("is refused")
        .to_string()
}

/// The primitives of all actions.
fn primitives(json: &mut serde_json::Value) -> Vec<&mut serde_json::Value> {
    let actions = json["actions"].as_array_mut().unwrap();
    actions
        .iter_mut()
        .flat_map(|a| a["primitives"].as_array_mut().unwrap())
        .collect()
}

#[test]
fn an_unknown_primitive_by_name_and_place() {
    let message = refused(|json| {
        let mut all = primitives(json);
        let count = all.iter_mut().find(|p| p["op"] == "count").unwrap();
        count["op"] = "count_backwards".into();
    });
    assert!(
        message.contains("count_backwards is not supported"),
        "{message}"
    );
    assert!(message.contains("features.p4:"), "{message}");
    assert!(message.contains("seen.count"), "{message}");
}

#[test]
fn an_unknown_operator() {
    let message = refused(|json| {
        let text = json
            .to_string()
            .replacen("\"op\":\"<<\"", "\"op\":\"cube_root\"", 1);
        *json = serde_json::from_str(&text).unwrap();
    });
    assert!(message.contains("cube_root"), "{message}");
}

#[test]
fn extern_instances() {
    let message = refused(|json| {
        json["extern_instances"] = serde_json::json!([{"name": "the_thing", "source_info":
            {"filename": "x.p4", "line": 3, "column": 4, "source_fragment": "thing"}}]);
    });
    assert_eq!(
        message,
        "x.p4:3:4 `thing`: extern instance the_thing is not supported"
    );
}

#[test]
fn text_that_is_no_program() {
    for text in ["", "{}", "[1]", "{\"parsers\": 3}"] {
        let message = Program::load(text.as_bytes())
            .expect_err("is refused")
            .to_string();
        assert!(message.contains("BMv2 JSON"), "{message}");
    }
    let message = refused(|json| json["parsers"][0]["init_state"] = "nowhere".into());
    assert!(message.contains("no state nowhere"), "{message}");
    let message = refused(|json| json["pipelines"][0]["init_table"] = "nowhere".into());
    assert!(message.contains("no node nowhere"), "{message}");
}

fn field(header: &str, name: &str) -> serde_json::Value {
    serde_json::json!({"type": "field", "value": [header, name]})
}

/// A varbit field's slot says where its bits are and how many. Numbers that were put there ended
/// the switch when the header was sent.
#[test]
fn results_that_are_put_into_varbit_fields() {
    let field =
        |header: &str, name: &str| serde_json::json!({"type": "field", "value": [header, name]});
    let number = serde_json::json!({"type": "hexstr", "value": "0x01"});
    let to = field("tail", "data");
    for (op, parameters) in [
        (
            "register_read",
            serde_json::json!([to, {"type": "register_array", "value": "added"}, number]),
        ),
        (
            "modify_field_rng_uniform",
            serde_json::json!([to, number, number]),
        ),
        (
            "modify_field_with_hash_based_offset",
            serde_json::json!([to, number, {"type": "calculation", "value": "added"}, number]),
        ),
        (
            "execute_meter",
            serde_json::json!([{"type": "meter_array", "value": "added"}, number, to]),
        ),
        ("assign", serde_json::json!([to, number])),
    ] {
        let message = refused(|json| {
            let list = |json: &mut serde_json::Value, name: &str, one: serde_json::Value| {
                json[name].as_array_mut().unwrap().push(one);
            };
            list(
                json,
                "register_arrays",
                serde_json::json!({"name": "added", "id": 90, "size": 9, "bitwidth": 64}),
            );
            list(
                json,
                "meter_arrays",
                serde_json::json!({"name": "added", "id": 90, "is_direct": false, "size": 9,
                    "type": "bytes", "rate_count": 2}),
            );
            list(
                json,
                "calculations",
                serde_json::json!({"name": "added", "id": 90, "algo": "crc32",
                    "input": [field("first", "kind")]}),
            );
            json["actions"][0]["primitives"]
                .as_array_mut()
                .unwrap()
                .push(serde_json::json!({"op": op, "parameters": parameters}));
        });
        assert!(message.contains("the varbit field data"), "{op}: {message}");
    }
}

/// What the target writes for every packet is not put there, either.
#[test]
fn standard_metadata_that_is_a_varbit_field() {
    let text = include_str!("../programs/features.json");
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    let of_time = "[\"ingress_global_timestamp\",48,false]";
    let text = json.to_string();
    assert!(text.contains(of_time));
    let varbit = text.replacen(of_time, "[\"ingress_global_timestamp\",\"*\"]", 1);
    json = serde_json::from_str(&varbit).unwrap();
    // It is read: by an expression, and by the deparser.
    let mut emitted = json.clone();
    let order = emitted["deparsers"][0]["order"].as_array_mut().unwrap();
    order.push("standard_metadata".into());
    let message = Program::load(emitted.to_string().as_bytes()).expect_err("is refused");
    let message = message.to_string();
    assert!(
        message.contains("standard_metadata, which is metadata"),
        "{message}"
    );
    let time = field("standard_metadata", "ingress_global_timestamp");
    let ingress = &mut json["pipelines"][0];
    let init = ingress["init_table"].take();
    let conditions = ingress["conditionals"].as_array_mut().unwrap();
    conditions.push(serde_json::json!({
        "name": "added", "id": 90, "true_next": init, "false_next": init,
        "expression": {"type": "expression", "value": {
            "op": "==", "left": time, "right": {"type": "hexstr", "value": "0x01"}}},
    }));
    ingress["init_table"] = "added".into();
    let program = Program::load(json.to_string().as_bytes()).unwrap();
    let mut pipeline = Pipeline::new(Arc::new(program), 42);
    // Two days after the start its upper half is a place.
    let now = 48 * 3600 * 1_000_000_000;
    outcome_at(&mut pipeline, now, 1, &[1; 64]).unwrap();
}
