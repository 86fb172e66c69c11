// SPDX-License-Identifier: Apache-2.0
//! Makes BMv2 JSON without a compiler.
#![allow(dead_code)] // Not every test binary uses all of it.

pub mod expression;
pub mod program;

use serde_json::{Value, json};

/// A field as an operand.
pub fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

/// A constant as an operand.
pub fn constant(text: &str) -> Value {
    json!({"type": "hexstr", "value": text})
}

/// An operator as an operand.
pub fn operator(op: &str, left: Value, right: Value) -> Value {
    let value = json!({"op": op, "left": left, "right": right});
    json!({"type": "expression", "value": value})
}

/// A statement.
pub fn primitive(op: &str, parameters: &[Value]) -> Value {
    json!({"op": op, "parameters": parameters})
}

/// v1model's standard metadata as p4c declares it.
pub fn standard_metadata() -> Value {
    json!({"name": "standard_metadata", "id": 0, "fields": [
        ["ingress_port", 9, false], ["egress_spec", 9, false], ["egress_port", 9, false],
        ["clone_spec", 32, false], ["instance_type", 32, false], ["drop", 1, false],
        ["recirculate_port", 16, false], ["packet_length", 32, false],
        ["enq_timestamp", 32, false], ["enq_qdepth", 19, false], ["deq_timedelta", 32, false],
        ["deq_qdepth", 19, false], ["ingress_global_timestamp", 48, false],
        ["egress_global_timestamp", 48, false], ["lf_field_list", 32, false],
        ["mcast_grp", 16, false], ["resubmit_flag", 32, false], ["egress_rid", 16, false],
        ["recirculate_flag", 32, false], ["checksum_error", 1, false],
        ["parser_error", 32, false], ["priority", 3, false], ["_padding", 4, false]]})
}

/// A program from its parts, with an empty egress.
pub struct Parts {
    pub header_types: Vec<Value>,
    pub headers: Vec<Value>,
    pub parse_states: Vec<Value>,
    pub actions: Vec<Value>,
    pub ingress: Value,
    pub egress: Value,
    pub deparse: Vec<String>,
    pub register_arrays: Vec<Value>,
}

impl Parts {
    /// The document.
    pub fn json(mut self) -> Vec<u8> {
        self.header_types.insert(0, standard_metadata());
        self.headers.insert(
            0,
            json!({"name": "standard_metadata", "id": 0, "header_type": "standard_metadata",
                   "metadata": true, "pi_omit": true}),
        );
        let document = json!({
            "program": "generated", "__meta__": {"version": [2, 23], "compiler": "a test"},
            "header_types": self.header_types,
            "headers": self.headers,
            "header_stacks": [], "header_union_types": [], "header_unions": [],
            "header_union_stacks": [], "field_lists": [],
            "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2],
                ["StackOutOfBounds", 3], ["HeaderTooShort", 4], ["ParserTimeout", 5],
                ["ParserInvalidArgument", 6]],
            "enums": [],
            "parsers": [{"name": "parser", "id": 0, "init_state": "start",
                         "parse_states": self.parse_states}],
            "parse_vsets": [],
            "deparsers": [{"name": "deparser", "id": 0, "order": self.deparse, "primitives": []}],
            "meter_arrays": [], "counter_arrays": [],
            "register_arrays": self.register_arrays,
            "calculations": [], "learn_lists": [],
            "actions": self.actions,
            "pipelines": [self.ingress, self.egress],
            "checksums": [], "force_arith": [], "extern_instances": [], "field_aliases": [],
        });
        serde_json::to_vec(&document).expect("a document can be written")
    }
}

/// A parser state that extracts these headers and accepts.
pub fn accepting_state(name: &str, headers: &[&str]) -> Value {
    let extract =
        |h: &&str| json!({"op": "extract", "parameters": [{"type": "regular", "value": h}]});
    json!({"name": name, "id": 0, "parser_ops": headers.iter().map(extract).collect::<Vec<_>>(),
           "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}],
           "transition_key": []})
}

/// A pipeline that calls one action, or does nothing.
pub fn calling(name: &str, action: Option<u64>) -> Value {
    let calls: Vec<Value> = action
        .iter()
        .map(|id| json!({"name": "call", "id": 0, "action_id": id, "next_node": null}))
        .collect();
    json!({"name": name, "id": 0, "init_table": action.map(|_| "call"), "tables": [],
           "action_profiles": [], "conditionals": [], "action_calls": calls})
}
