// SPDX-License-Identifier: Apache-2.0
//! Programs whose JSON is short and which become large are refused, before they take the machine's
//! memory or an hour. What they become is what counts: actions are put in place at each call,
//! elements of stacks one by one, and conditions and indices at each field.

use crate::common::{outcome_at, pipeline};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use v1model::{LoadError, Pipeline, Program};

fn document(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    serde_json::from_slice(&std::fs::read(path.join(name)).unwrap()).unwrap()
}

fn load(document: &Value) -> Result<Program, LoadError> {
    Program::load(&serde_json::to_vec(document).unwrap())
}

fn refusal(document: &Value) -> String {
    match load(document) {
        Ok(_) => panic!("the program was loaded"),
        Err(error) => error.to_string(),
    }
}

fn refused(document: &Value, what: &str) {
    let words = refusal(document);
    assert!(words.contains(what), "{words}");
}

const INSTRUCTIONS: &str = "more than 1048576 instructions";
const OPERATIONS: &str = "more than 2097152 operations";
const KEPT: &str = "more than 128 MiB";

fn list<'d>(document: &'d mut Value, name: &str) -> &'d mut Vec<Value> {
    document[name].as_array_mut().unwrap()
}

/// Adds header instances, all of one new type with so many fields of 8 bits, and gives their ids.
fn add_headers(document: &mut Value, prefix: &str, count: usize, fields: usize) -> Vec<u64> {
    let fields: Vec<Value> = (0..fields)
        .map(|n| json!([format!("f{n}"), 8, false]))
        .collect();
    let kind = format!("{prefix}_t");
    let types = list(document, "header_types");
    types.push(json!({"name": kind, "id": types.len(), "fields": fields}));
    let headers = list(document, "headers");
    let ids = headers.len() as u64..(headers.len() + count) as u64;
    for (n, id) in ids.clone().enumerate() {
        headers.push(json!({
            "name": format!("{prefix}[{n}]"), "id": id, "header_type": kind, "metadata": false,
        }));
    }
    ids.collect()
}

/// Adds a stack of headers with a field each.
fn add_stack(document: &mut Value, name: &str, size: usize) {
    let ids = add_headers(document, name, size, 1);
    list(document, "header_stacks").push(json!({
        "name": name, "id": 90, "header_type": format!("{name}_t"), "size": size,
        "header_ids": ids,
    }));
}

/// An element of a stack with an index that only the packet tells.
fn element(stack: &str, index: &Value) -> Value {
    json!({"type": "expression", "value": {
        "op": "dereference_header_stack",
        "left": {"type": "header_stack", "value": stack},
        "right": index,
    }})
}

fn add_action(document: &mut Value, primitives: &[Value]) -> u64 {
    let actions = list(document, "actions");
    let id = 1000 + actions.len() as u64;
    actions.push(json!({
        "name": format!("added{id}"), "id": id, "runtime_data": [], "primitives": primitives,
    }));
    id
}

/// Lets the ingress of the document call an action so many times first.
fn call(document: &mut Value, action: u64, times: usize) {
    let ingress = &mut document["pipelines"][0];
    assert_eq!(ingress["name"], "ingress");
    let init = ingress["init_table"].take();
    let next = |n: usize| match n {
        n if n == times => init.clone(),
        n => json!(format!("call{n}")),
    };
    let calls: Vec<Value> = (0..times)
        .map(|n| json!({"name": format!("call{n}"), "action_id": action, "next_node": next(n + 1)}))
        .collect();
    ingress["init_table"] = next(0);
    ingress["action_calls"] = json!(calls);
}

fn number(value: u8) -> Value {
    json!({"type": "hexstr", "value": format!("0x{value:02x}")})
}

fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

#[test]
fn statements_on_elements_wherever_they_stand() {
    let with_stack = || {
        let mut bomb = document("stacks.json");
        add_stack(&mut bomb, "many", 1000);
        bomb
    };
    load(&with_stack()).expect("the stack is not too large");
    let any = element("many", &field("command", "op"));
    let add = json!({"op": "add_header", "parameters": [any]});
    let adds = vec![add; 400];
    // An action that a table calls, or nobody.
    let mut bomb = with_stack();
    add_action(&mut bomb, &adds);
    refused(&bomb, INSTRUCTIONS);
    // The parser.
    let mut bomb = with_stack();
    let steps = adds
        .iter()
        .map(|add| json!({"op": "primitive", "parameters": [add]}));
    list(&mut bomb["parsers"][0]["parse_states"][0], "parser_ops").extend(steps);
    refused(&bomb, INSTRUCTIONS);
    // The deparser.
    let mut bomb = with_stack();
    list(&mut bomb["deparsers"][0], "primitives").extend(adds);
    refused(&bomb, INSTRUCTIONS);
    // Copies from each to each.
    let mut bomb = document("stacks.json");
    let ids = add_headers(&mut bomb, "many", 8050, 1);
    for (name, ids) in [("few", &ids[..50]), ("most", &ids[50..])] {
        list(&mut bomb, "header_stacks").push(json!({
            "name": name, "id": 90, "header_type": "many_t", "size": ids.len(), "header_ids": ids,
        }));
    }
    let index = field("command", "op");
    let (few, most) = (element("few", &index), element("most", &index));
    let copy = json!({"op": "assign_header", "parameters": [most, few]});
    add_action(&mut bomb, &[copy]);
    refused(&bomb, INSTRUCTIONS);
    // One of two, again and again.
    let mut bomb = document("stacks.json");
    add_headers(&mut bomb, "h", 1, 1);
    fn tree(levels: usize) -> Value {
        let Some(below) = levels.checked_sub(1) else {
            return header("h[0]");
        };
        let cond = expression("==", &field("command", "op"), &number(1));
        json!({"type": "expression", "value": {
            "op": "?", "cond": cond, "left": tree(below), "right": tree(below),
        }})
    }
    let any = tree(9);
    let copy = json!({"op": "assign_header", "parameters": [any, any]});
    add_action(&mut bomb, &vec![copy; 2]);
    refused(&bomb, INSTRUCTIONS);
}

/// Condition of ingress that it begins with.
fn add_condition(document: &mut Value, expression: &Value) {
    let ingress = &mut document["pipelines"][0];
    let init = ingress["init_table"].take();
    list(ingress, "conditionals").push(json!({
        "name": "condition", "id": 9001, "expression": expression,
        "true_next": init, "false_next": init,
    }));
    ingress["init_table"] = json!("condition");
}

fn header(name: &str) -> Value {
    json!({"type": "header", "value": name})
}

fn expression(op: &str, left: &Value, right: &Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

#[test]
fn comparisons_of_headers_within_comparisons() {
    // (c ? h0 : h1) == h2 where c is again such a comparison.
    let nested = |fields: usize, levels: usize| {
        let mut bomb = document("features.json");
        add_headers(&mut bomb, "h", 3, fields);
        let mut condition = expression("==", &header("h[0]"), &header("h[1]"));
        for _ in 0..levels {
            let choice = json!({"type": "expression", "value": {
                "op": "?", "cond": condition, "left": header("h[0]"), "right": header("h[1]"),
            }});
            condition = expression("==", &choice, &header("h[2]"));
        }
        add_condition(&mut bomb, &condition);
        bomb
    };
    refused(&nested(20, 8), OPERATIONS);
    load(&nested(3, 1)).expect("so many are supported");
    load(&nested(2, 2)).expect("so many are supported");
    // many[many[...] == h ? 1 : 0] == h
    let mut bomb = document("features.json");
    let ids = add_headers(&mut bomb, "many", 4, 20);
    list(&mut bomb, "header_stacks").push(json!({
        "name": "many", "id": 90, "header_type": "many_t", "size": 3, "header_ids": ids[..3],
    }));
    let mut index = number(0);
    for _ in 0..10 {
        let same = expression("==", &element("many", &index), &header("many[3]"));
        index = json!({"type": "expression", "value": {
            "op": "b2d", "left": null, "right": same,
        }});
    }
    let same = expression("==", &element("many", &index), &header("many[3]"));
    add_condition(&mut bomb, &same);
    refused(&bomb, OPERATIONS);
}

#[test]
fn a_header_may_have_thousands_of_fields_that_are_compared() {
    let mut long = document("features.json");
    add_headers(&mut long, "h", 2, 10_000);
    let same = expression("==", &header("h[0]"), &header("h[1]"));
    add_condition(&mut long, &same);
    let value = json!({"type": "expression", "value": {"op": "b2d", "left": null, "right": same}});
    let target = field("first", "kind");
    add_action(
        &mut long,
        &[json!({"op": "assign", "parameters": [target, value]})],
    );
    let program = Arc::new(load(&long).unwrap());
    let mut with = Pipeline::new(program, 42);
    let mut without = pipeline("features.json");
    let frame = [1; 64];
    assert_eq!(
        outcome_at(&mut with, 1, 1, &frame),
        outcome_at(&mut without, 1, 1, &frame)
    );
}

#[test]
fn short_actions_that_are_called_often() {
    let kind = field("first", "kind");
    // What has no instructions takes time nonetheless.
    let statement = json!({"op": "no_op", "parameters": []});
    let mut bomb = document("features.json");
    let action = add_action(&mut bomb, &vec![statement; 2000]);
    call(&mut bomb, action, 2000);
    refused(&bomb, INSTRUCTIONS);
    // Long texts and long constants.
    let text = "x".repeat(1 << 20);
    let constant = json!({"type": "hexstr", "value": format!("0x1{}", "0".repeat(1 << 20))});
    let input = json!({"type": "hexstr", "value": "0x01", "bitwidth": 65_528});
    let hash = json!([kind, number(0), {"type": "calculation", "value": "many"}, number(9)]);
    for (statement, what) in [
        (
            json!({"op": "log_msg", "parameters": [
                {"type": "string", "value": text}, {"type": "parameters_vector", "value": []}]}),
            KEPT,
        ),
        (
            json!({"op": "no_op", "parameters": [], "source_info": {
                "filename": "x.p4", "line": 1, "column": 1, "source_fragment": text}}),
            KEPT,
        ),
        (
            json!({"op": "assign", "parameters": [kind, expression(">>", &constant, &kind)]}),
            "more than",
        ),
        (
            json!({"op": "modify_field_with_hash_based_offset", "parameters": hash}),
            KEPT,
        ),
    ] {
        let mut bomb = document("features.json");
        list(&mut bomb, "calculations").push(json!({
            "name": "many", "id": 99, "algo": "crc32", "input": vec![&input; 100],
        }));
        let action = add_action(&mut bomb, &[statement]);
        call(&mut bomb, action, 1000);
        refused(&bomb, what);
    }
}

#[test]
fn long_chains_are_loaded_soon() {
    // Jumps to jumps.
    let steps = 500;
    let jumps: Vec<Value> = (1..=steps)
        .map(|n| {
            let to = json!({"type": "hexstr", "value": format!("0x{n:x}")});
            json!({"op": "_jump", "parameters": [to]})
        })
        .collect();
    let mut long = document("features.json");
    let action = add_action(&mut long, &jumps);
    call(&mut long, action, 500);
    load(&long).unwrap();
    // Values that go from field to field, and none is read at last.
    let mut long = document("features.json");
    let fields: Vec<Value> = (0..8000)
        .map(|n| json!([format!("f{n}"), 8, false]))
        .collect();
    list(&mut long, "header_types").push(json!({"name": "m_t", "id": 90, "fields": fields}));
    list(&mut long, "headers")
        .push(json!({"name": "m", "id": 90, "header_type": "m_t", "metadata": true}));
    let moves: Vec<Value> = (1..8000)
        .map(|n| {
            let (to, from) = (format!("f{n}"), format!("f{}", n - 1));
            json!({"op": "assign", "parameters": [field("m", &to), field("m", &from)]})
        })
        .collect();
    let action = add_action(&mut long, &moves);
    call(&mut long, action, 20);
    load(&long).unwrap();
}

/// Whatever names something in a list finds it without looking through the list.
#[test]
fn long_lists_are_loaded_soon() {
    const MANY: usize = 20_000;
    let mut long = document("features.json");
    // The last one of many registers is the one that statements name.
    for n in 0..MANY {
        let register = json!({"name": format!("r{n}"), "id": n, "size": 1, "bitwidth": 8});
        list(&mut long, "register_arrays").push(register);
        list(&mut long, "errors").push(json!([format!("Error{n}"), 100 + n]));
        list(&mut long, "parse_vsets")
            .push(json!({"name": format!("v{n}"), "compressed_bitwidth": 8, "max_size": 1}));
    }
    let register = json!({"type": "register_array", "value": format!("r{}", MANY - 1)});
    let write = json!({"op": "register_write", "parameters": [register, number(0), number(1)]});
    add_action(&mut long, &vec![write; MANY]);
    // Selects without a default, and some with value sets.
    let states = list(&mut long["parsers"][0], "parse_states");
    for n in 0..MANY {
        let set = format!("v{}", MANY - 1 - n);
        let case = json!({"type": "parse_vset", "value": set, "mask": null, "next_state": null});
        states.push(json!({
            "name": format!("added{n}"), "transition_key": [field("first", "kind")],
            "transitions": [case],
        }));
    }
    load(&long).unwrap();
}

#[test]
fn a_program_too_large_to_be_looked_through_does_what_it_says() {
    let mut large = document("stacks.json");
    add_stack(&mut large, "many", 1000);
    let fields: Vec<Value> = (0..25_000)
        .map(|n| json!([format!("f{n}"), 8, false]))
        .collect();
    list(&mut large, "header_types").push(json!({"name": "m_t", "id": 90, "fields": fields}));
    list(&mut large, "headers")
        .push(json!({"name": "m", "id": 9000, "header_type": "m_t", "metadata": true}));
    let added = json!({"op": "add_header", "parameters": [element("many", &field("m", "f1"))]});
    add_action(&mut large, &vec![added; 14]);
    let mut large = Pipeline::new(Arc::new(load(&large).unwrap()), 42);
    let mut small = pipeline("stacks.json");
    for op in 0..12 {
        for index in 0..4 {
            let frame = [op, index, 2, 5, 2, 1, 2, 3, 1, 7, 0xee, 9, 9, 9];
            assert_eq!(
                outcome_at(&mut large, 1, 1, &frame),
                outcome_at(&mut small, 1, 1, &frame),
                "{op} {index}"
            );
        }
    }
}

#[test]
fn entries_with_the_longest_arguments_of_their_table() {
    let mut bomb = document("initial_entries.json");
    let pipelines = bomb["pipelines"].as_array().unwrap();
    let mut tables = pipelines
        .iter()
        .flat_map(|p| p["tables"].as_array().unwrap());
    let table = tables.find(|t| t["entries"].is_array()).unwrap();
    let ids = table["action_ids"].as_array().unwrap();
    let (id, name) = (json!(777), json!("long"));
    let (ids, names): (Vec<Value>, Vec<Value>) = (
        ids.iter().cloned().chain([id.clone()]).collect(),
        table["actions"]
            .as_array()
            .unwrap()
            .iter()
            .cloned()
            .chain([name.clone()])
            .collect(),
    );
    let wanted = table["name"].clone();
    let data: Vec<Value> = (0..10_000)
        .map(|n| json!({"name": format!("p{n}"), "bitwidth": 8}))
        .collect();
    list(&mut bomb, "actions")
        .push(json!({"name": name, "id": id, "runtime_data": data, "primitives": []}));
    let pipelines = bomb["pipelines"].as_array_mut().unwrap();
    let tables = pipelines
        .iter_mut()
        .flat_map(|p| p["tables"].as_array_mut().unwrap());
    for table in tables.filter(|t| t["name"] == wanted) {
        table["action_ids"] = json!(ids);
        table["actions"] = json!(names);
        table["next_tables"]["long"] = Value::Null;
        let entry = table["entries"][0].clone();
        let wide = table["key"][0]["match_type"] == "exact";
        let entries: Vec<Value> = (0..5000)
            .map(|n| {
                let mut entry = entry.clone();
                if wide {
                    entry["match_key"][0]["key"] = json!(format!("0x{n:x}"));
                }
                entry
            })
            .collect();
        table["entries"] = json!(entries);
        table["max_size"] = json!(1 << 20);
    }
    refused(&bomb, "the entries that P4 gives take more than 256 MiB");
}

#[test]
fn numbers_longer_than_a_packet_can_wait_for() {
    let kind = field("first", "kind");
    let by = json!({"type": "hexstr", "value": "0x20000"});
    let shifted = (0..3).fold(kind.clone(), |of, _| expression("<<", &of, &by));
    let wide = expression("<<", &kind, &number(255));
    let squared = (0..11).fold(wide, |of, _| expression("*", &of, &of));
    for long in [&shifted, &squared] {
        let mut bomb = document("features.json");
        add_condition(&mut bomb, &expression(">", long, &number(3)));
        refused(&bomb, "values of more than 262144 bits");
        // What is cut at last is not that long before.
        let mask = json!({"type": "hexstr", "value": format!("0x{}", "f".repeat(50))});
        let mut cut = document("features.json");
        let low = expression("&", long, &mask);
        add_condition(&mut cut, &expression(">", &low, &number(3)));
        let mut pipeline = Pipeline::new(Arc::new(load(&cut).unwrap()), 42);
        outcome_at(&mut pipeline, 1, 1, &[1; 64]).unwrap();
    }
    // Each of two fields of 8 KiB.
    let quotients = |times: usize| {
        let mut bomb = document("features.json");
        list(&mut bomb, "header_types")
            .push(json!({"name": "wide_t", "id": 90, "fields": [["f", 65_528, false]]}));
        list(&mut bomb, "headers")
            .push(json!({"name": "wide", "id": 90, "header_type": "wide_t", "metadata": true}));
        let wide = field("wide", "f");
        let divide = json!({"op": "assign", "parameters": [kind, expression("/", &wide, &wide)]});
        add_action(&mut bomb, &vec![divide; times]);
        bomb
    };
    load(&quotients(10)).expect("so many are supported");
    refused(&quotients(20), "take too long for a packet");
}

/// A frame of any length came of a header that is emitted again and again, before the device
/// dropped it.
#[test]
fn a_frame_that_no_device_sends_is_not_put_together() {
    let emitting = |times: usize| {
        let mut many = document("features.json");
        add_headers(&mut many, "h", 1, 1000);
        let added = json!({"op": "add_header", "parameters": [header("h[0]")]});
        let action = add_action(&mut many, &[added]);
        call(&mut many, action, 1);
        let order = list(&mut many["deparsers"][0], "order");
        order.extend(vec![json!("h[0]"); times]);
        many
    };
    let sent = |times: usize| {
        let mut pipeline = Pipeline::new(Arc::new(load(&emitting(times)).unwrap()), 42);
        let (_, out) = outcome_at(&mut pipeline, 1, 1, &[1; 64]).unwrap().unwrap();
        out
    };
    let (without, some, many) = (sent(0), sent(60), sent(4000));
    assert_eq!(some.len(), without.len() + 60 * 1000);
    assert!((65_537..70_000).contains(&many.len()), "{}", many.len());
    assert!(many.capacity() < 1 << 18, "{}", many.capacity());
    assert_eq!(many[..50_000], some[..50_000], "its first bytes are right");
    refused(&emitting(5000), "at most 4096 are supported");
}

#[test]
fn keys_of_selects_and_members_of_unions() {
    let mut bomb = document("features.json");
    let types = list(&mut bomb, "header_types");
    types.push(json!({"name": "wide_t", "id": 90, "fields": [["f", 65_528, false]]}));
    list(&mut bomb, "headers")
        .push(json!({"name": "wide", "id": 90, "header_type": "wide_t", "metadata": false}));
    bomb["parsers"][0]["parse_states"][0]["transition_key"] =
        json!([field("wide", "f"), field("wide", "f"), field("wide", "f"),]);
    refused(&bomb, "a select over 24573 bytes");
    let mut bomb = document("features.json");
    let ids = add_headers(&mut bomb, "h", 300, 1);
    list(&mut bomb, "header_unions")
        .push(json!({"name": "u", "id": 0, "union_type": "u_t", "header_ids": ids}));
    refused(
        &bomb,
        "the union u has 300 headers; at most 256 are supported",
    );
}
