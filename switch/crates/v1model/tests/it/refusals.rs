// SPDX-License-Identifier: Apache-2.0
//! What is not supported, or no program at all, is refused at load by name.

use v1model::Program;

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
