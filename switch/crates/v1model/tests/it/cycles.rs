// SPDX-License-Identifier: Apache-2.0
//! A program in which a packet could go round for ever is refused at load, by name.

use crate::common::outcome_at;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use v1model::{Pipeline, Program};

fn document(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    serde_json::from_slice(&std::fs::read(path.join(name)).unwrap()).unwrap()
}

fn refusal(document: &Value) -> String {
    let json = serde_json::to_vec(document).unwrap();
    match Program::load(&json) {
        Ok(_) => panic!("the program was loaded"),
        Err(error) => error.to_string(),
    }
}

/// A pipeline of the document by its name.
fn pipeline<'d>(document: &'d mut Value, name: &str) -> &'d mut Value {
    let mut all = document["pipelines"].as_array_mut().unwrap().iter_mut();
    all.find(|p| p["name"] == name).unwrap()
}

/// A table that nothing looks up and that always goes on to `next`.
fn step(name: &str, next: &str) -> Value {
    json!({
        "name": name, "id": 9000, "key": [], "match_type": "exact", "type": "simple",
        "max_size": 1024, "with_counters": false, "support_timeout": false,
        "direct_meters": null, "action_ids": [0], "actions": ["any"],
        "base_default_next": next, "next_tables": {"__HIT__": next, "__MISS__": next},
    })
}

/// A condition with these ways on.
fn condition(name: &str, yes: &str, no: Option<&str>) -> Value {
    json!({
        "name": name, "id": 9001, "true_next": yes, "false_next": no,
        "expression": {"type": "bool", "value": true},
        "source_info": {"filename": "x.p4", "line": 3, "column": 4, "source_fragment": "if"},
    })
}

#[test]
fn tables_and_conditions_that_point_back() {
    for half in ["ingress", "egress"] {
        let mut bomb = document("features.json");
        let id = bomb["actions"][0]["id"].clone();
        let pipeline = pipeline(&mut bomb, half);
        pipeline["init_table"] = json!("first");
        let tables = pipeline["tables"].as_array_mut().unwrap();
        for mut table in [step("first", "second"), step("second", "third")] {
            table["action_ids"] = json!([id]);
            tables.push(table);
        }
        let conditions = pipeline["conditionals"].as_array_mut().unwrap();
        conditions.push(condition("third", "second", None));
        let words = refusal(&bomb);
        let named = format!(
            "the {half} pipeline is a circle that a packet would not leave: table second, \
             condition third, table second"
        );
        assert!(words.contains(&named), "{words}");
        assert!(words.starts_with("x.p4:3:4"), "{words}");
    }
}

#[test]
fn a_condition_that_leads_to_itself() {
    let mut bomb = document("features.json");
    let pipeline = pipeline(&mut bomb, "ingress");
    pipeline["init_table"] = json!("again");
    let conditions = pipeline["conditionals"].as_array_mut().unwrap();
    conditions.push(condition("again", "again", None));
    let words = refusal(&bomb);
    assert!(
        words.contains("condition again, condition again"),
        "{words}"
    );
}

/// Every way on in the program, one after the other, is bent back to where its pipeline begins:
/// what is loaded then has no circle, and a packet comes to its end.
#[test]
fn what_is_loaded_comes_to_an_end() {
    let original = document("features.json");
    let mut refused = 0;
    let pipelines = original["pipelines"].as_array().unwrap();
    for (p, pipeline) in pipelines.iter().enumerate() {
        let start = pipeline["init_table"].clone();
        let mut bend = |path: &[&str]| {
            let mut bent = original.clone();
            let mut place = &mut bent["pipelines"][p];
            for key in path {
                place = match key.parse::<usize>() {
                    Ok(index) => &mut place[index],
                    Err(_) => &mut place[*key],
                };
            }
            *place = start.clone();
            let json = serde_json::to_vec(&bent).unwrap();
            match Program::load(&json) {
                Ok(program) => {
                    let mut pipeline = Pipeline::new(Arc::new(program), 1);
                    let _ = outcome_at(&mut pipeline, 1_000, 1, &[0; 200]);
                }
                Err(_) => refused += 1,
            }
        };
        for n in 0..pipeline["conditionals"].as_array().unwrap().len() {
            bend(&["conditionals", &n.to_string(), "true_next"]);
            bend(&["conditionals", &n.to_string(), "false_next"]);
        }
        for (n, table) in pipeline["tables"].as_array().unwrap().iter().enumerate() {
            bend(&["tables", &n.to_string(), "base_default_next"]);
            for name in table["next_tables"].as_object().unwrap().keys() {
                bend(&["tables", &n.to_string(), "next_tables", name]);
            }
        }
    }
    assert!(refused > 10, "{refused} circles were refused");
}

#[test]
fn an_action_that_jumps_back() {
    for op in ["_jump", "_jump_if_zero"] {
        let mut bomb = document("features.json");
        let action = &mut bomb["actions"][1];
        let name = action["name"].as_str().unwrap().to_owned();
        let target = json!({"type": "hexstr", "value": "0x0"});
        let parameters = match op {
            "_jump" => json!([target]),
            _ => json!([{"type": "bool", "value": false}, target]),
        };
        action["primitives"] = json!([{"op": op, "parameters": parameters}]);
        let words = refusal(&bomb);
        let named = format!("action {name} jumps back");
        assert!(words.contains(&named), "{words}");
    }
}

/// Branches that meet again are no circle, however many ways lead through them.
#[test]
fn a_ladder_of_branches_is_loaded() {
    let mut ladder = document("features.json");
    let pipeline = pipeline(&mut ladder, "ingress");
    let end = pipeline["init_table"].as_str().unwrap().to_owned();
    pipeline["init_table"] = json!("rung0");
    let conditions = pipeline["conditionals"].as_array_mut().unwrap();
    for n in 0..64 {
        let next = match n {
            63 => end.clone(),
            _ => format!("rung{}", n + 1),
        };
        conditions.push(condition(&format!("rung{n}"), &next, Some(&next)));
    }
    Program::load(&serde_json::to_vec(&ladder).unwrap()).unwrap();
}
