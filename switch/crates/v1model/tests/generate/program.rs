// SPDX-License-Identifier: Apache-2.0
//! Random programs: headers, parsers, tables, actions with jumps, registers.

use super::expression::{Data, FIELDS, Truth};
use super::*;
use serde_json::{Value, json};

/// Choices from a seed (SplitMix64).
pub struct Choices(pub u64);

impl Choices {
    /// Below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % count as u64) as usize
    }

    fn one<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A field that statements may use: header, name, bits.
type Place = (String, String, u32);

/// A header type of whole bytes; its fields.
fn header_type(name: &str, id: usize, choices: &mut Choices) -> (Value, Vec<(String, u32)>) {
    let mut fields: Vec<(String, u32)> = (0..1 + choices.below(5))
        .map(|n| (format!("f{n}"), 1 + choices.below(64) as u32))
        .collect();
    if choices.chance(20) {
        fields.push(("wide".to_owned(), 65 + choices.below(63) as u32));
    }
    let bits: u32 = fields.iter().map(|f| f.1).sum();
    if bits % 8 != 0 {
        fields.insert(
            choices.below(fields.len() + 1),
            ("pad".to_owned(), 8 - bits % 8),
        );
    }
    let list: Vec<Value> = fields.iter().map(|(n, w)| json!([n, w, false])).collect();
    (json!({"name": name, "id": id, "fields": list}), fields)
}

/// A parser that goes on from header to header as their fields say.
fn parse_states(headers: &[(String, Vec<(String, u32)>)], choices: &mut Choices) -> Vec<Value> {
    let mut states = Vec::new();
    for (n, (header, fields)) in headers.iter().enumerate() {
        let mut transitions = Vec::new();
        let narrow: Vec<_> = fields.iter().filter(|f| f.1 <= 64).collect();
        let (field, width) = &narrow[choices.below(narrow.len())];
        let bytes = width.div_ceil(8) as usize;
        // Later states only, so that parsers end.
        for _ in 0..choices.below(3) {
            let next = n + 1 + choices.below(headers.len() - n);
            let mask = 1u64 << choices.below(*width as usize);
            let value = if choices.chance(50) { mask } else { 0 };
            transitions.push(json!({"type": "hexstr",
                "value": format!("0x{value:0digits$x}", digits = 2 * bytes),
                "mask": format!("0x{mask:0digits$x}", digits = 2 * bytes),
                "next_state": headers.get(next).map(|_| format!("s{next}"))}));
        }
        let next = n + 1 + choices.below(headers.len() - n);
        transitions.push(json!({"type": "default", "value": null, "mask": null,
            "next_state": headers.get(next).map(|_| format!("s{next}"))}));
        states.push(json!({
        "name": if n == 0 { "start".to_owned() } else { format!("s{n}") }, "id": n,
        "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": header}]}],
        "transitions": transitions,
        "transition_key": if transitions.len() > 1 {
            json!([{"type": "field", "value": [header, field]}])
        } else {
            json!([])
        }}));
    }
    states
}

/// Random headers, and a program that sends every packet to port 1. With
/// `rewrite`, every field is assigned to itself, so that the headers are put
/// together anew.
pub fn identity(seed: u64, rewrite: bool) -> Vec<u8> {
    let mut choices = Choices(seed);
    let mut types = Vec::new();
    let mut instances = Vec::new();
    let mut headers = Vec::new();
    for n in 0..1 + choices.below(5) {
        let (header_type, fields) = header_type(&format!("t{n}"), n + 1, &mut choices);
        types.push(header_type);
        let name = format!("h{n}");
        instances.push(
            json!({"name": name, "id": n + 1, "header_type": format!("t{n}"),
                              "metadata": false}),
        );
        headers.push((name, fields));
    }
    let mut primitives = vec![primitive(
        "assign",
        &[field("standard_metadata", "egress_spec"), constant("0x1")],
    )];
    if rewrite {
        for (header, fields) in &headers {
            for (name, _) in fields {
                let place = field(header, name);
                primitives.push(primitive("assign", &[place.clone(), place]));
            }
        }
    }
    Parts {
        header_types: types,
        headers: instances,
        parse_states: parse_states(&headers, &mut choices),
        actions: vec![
            json!({"name": "act", "id": 0, "runtime_data": [], "primitives": primitives}),
        ],
        ingress: calling("ingress", Some(0)),
        egress: calling("egress", None),
        // Parsers go through the headers in this order, leaving some out.
        deparse: headers.iter().map(|(name, _)| name.clone()).collect(),
        register_arrays: Vec::new(),
    }
    .json()
}

struct Statements<'a> {
    choices: Choices,
    data: &'a [Data],
    truths: &'a [Truth],
    places: Vec<Place>,
}

impl Statements<'_> {
    fn place(&mut self) -> Value {
        let (header, name, _) = self.choices.one(&self.places).clone();
        field(&header, &name)
    }

    fn value(&mut self, params: usize) -> Value {
        if params > 0 && self.choices.chance(40) {
            return json!({"type": "runtime_data", "value": self.choices.below(params)});
        }
        if self.choices.chance(60) {
            self.place()
        } else {
            self.choices.one(self.data).json()
        }
    }

    fn index(&mut self) -> Value {
        // Past the end of the registers, too.
        operator("&", self.place(), constant("0x7"))
    }

    fn header(&mut self) -> Value {
        json!({"type": "header", "value": *self.choices.one(&["x", "y"])})
    }

    fn primitives(&mut self, params: usize) -> Vec<Value> {
        let count = 1 + self.choices.below(7);
        let jump = |to: usize| constant(&format!("{to:#x}"));
        let mut list = Vec::new();
        while list.len() < count {
            let register = json!({"type": "register_array", "value": "r"});
            let statement = match self.choices.below(20) {
                0 => primitive("add_header", &[self.header()]),
                1 => primitive("remove_header", &[self.header()]),
                2 if self.choices.chance(25) => {
                    // Metadata of one type, too.
                    let mut names = ["standard_metadata", "copy"];
                    if self.choices.chance(50) {
                        names.reverse();
                    }
                    let header = |name| json!({"type": "header", "value": name});
                    primitive("assign_header", &names.map(header))
                }
                2 => primitive("assign_header", &[self.header(), self.header()]),
                3 | 4 => primitive("register_read", &[self.place(), register, self.index()]),
                5 | 6 => {
                    let (index, value) = (self.index(), self.value(params));
                    primitive("register_write", &[register, index, value])
                }
                7 => {
                    let to = list.len() + 1 + self.choices.below(count - list.len());
                    let condition = self.choices.one(self.truths).json();
                    primitive("_jump_if_zero", &[condition, jump(to)])
                }
                8 => {
                    // The standard metadata, or a copy of them.
                    let marked = if self.choices.chance(20) {
                        "standard_metadata"
                    } else {
                        "copy"
                    };
                    let header = json!({"type": "header", "value": marked});
                    primitive("mark_to_drop", &[header])
                }
                9 if self.choices.chance(20) => primitive("exit", &[]),
                _ => {
                    let to = self.place();
                    primitive("assign", &[to, self.value(params)])
                }
            };
            list.push(statement);
        }
        list
    }

    /// A pipeline of tables, conditions and calls that ends.
    fn pipeline(&mut self, name: &str, actions: &mut Vec<Value>) -> Value {
        let count = 1 + self.choices.below(6);
        let node = |n: usize| format!("{name}{n}");
        let (mut tables, mut conditionals, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..count {
            let next = |s: &mut Self| {
                let next = n + 1 + s.choices.below(count - n);
                if next < count {
                    json!(node(next))
                } else {
                    Value::Null
                }
            };
            let mut action = |s: &mut Self, params: usize| {
                let id = actions.len();
                let data: Vec<Value> = (0..params)
                    .map(|p| json!({"name": format!("p{p}"), "bitwidth": 16}))
                    .collect();
                let primitives = s.primitives(params);
                actions.push(
                    json!({"name": format!("c.a{id}"), "id": id, "runtime_data": data,
                                    "primitives": primitives}),
                );
                id
            };
            match self.choices.below(3) {
                0 => {
                    let expression = self.choices.one(self.truths).json();
                    let (yes, no) = (next(self), next(self));
                    conditionals.push(json!({"name": node(n), "id": n, "expression": expression,
                                             "true_next": yes, "false_next": no}));
                }
                1 => {
                    let action_id = action(self, 0);
                    let next_node = next(self);
                    calls.push(json!({"name": node(n), "id": n, "action_id": action_id,
                                      "next_node": next_node}));
                }
                _ => {
                    let ids = [action(self, 1), action(self, 2)];
                    let names: Vec<String> = ids.iter().map(|id| format!("c.a{id}")).collect();
                    let call = |s: &mut Self| {
                        let which = s.choices.below(2);
                        let data: Vec<String> = (0..=which)
                            .map(|_| format!("{:#x}", s.choices.below(1 << 16)))
                            .collect();
                        json!({"action_id": ids[which], "action_data": data})
                    };
                    let (header, name, width) = self.choices.one(&self.places).clone();
                    let mask = "0x3";
                    let entries: Vec<Value> = (0..self.choices.below(4))
                        .map(|key| {
                            json!({"match_key": [{"match_type": "exact",
                                       "key": format!("{:#x}", key % (1 << width.min(2)))}],
                                   "action_entry": call(self), "priority": key + 1})
                        })
                        .collect();
                    // The same key twice would be refused.
                    let entries = &entries[..entries.len().min(1 << width.min(2))];
                    let mut default = call(self);
                    default["action_const"] = json!(false);
                    default["action_entry_const"] = json!(false);
                    let next_tables = if self.choices.chance(50) {
                        json!({"__HIT__": next(self), "__MISS__": next(self)})
                    } else {
                        json!({&names[0]: next(self), &names[1]: next(self)})
                    };
                    let base = next(self);
                    tables.push(json!({"name": node(n), "id": n, "match_type": "exact",
                        "type": "simple", "max_size": 16, "with_counters": false,
                        "support_timeout": false, "direct_meters": null,
                        "key": [{"match_type": "exact", "name": "key", "target": [header, name],
                                 "mask": mask}],
                        "action_ids": ids, "actions": names, "base_default_next": base,
                        "next_tables": next_tables, "default_entry": default,
                        "entries": entries}));
                }
            }
        }
        json!({"name": name, "id": 0, "init_table": node(0), "tables": tables,
               "action_profiles": [], "conditionals": conditionals, "action_calls": calls})
    }
}

/// A random program that computes with the fields of a header `in`, two headers
/// `x` and `y` of the same type, metadata and a register array of six cells.
pub fn program(seed: u64, data: &[Data], truths: &[Truth]) -> Vec<u8> {
    let mut in_fields: Vec<Value> = FIELDS.iter().map(|(n, w, s)| json!([n, w, s])).collect();
    let bits: u32 = FIELDS.iter().map(|f| f.1).sum();
    if bits % 8 != 0 {
        in_fields.push(json!(["padding", 8 - bits % 8, false]));
    }
    let mut choices = Choices(seed);
    let (x_type, x_fields) = header_type("x_t", 2, &mut choices);
    let metadata = [
        ("m0", 2),
        ("m1", 8),
        ("m2", 32),
        ("m3", 64),
        ("m4", 9),
        ("m5", 100),
    ];
    let list: Vec<Value> = metadata.iter().map(|(n, w)| json!([n, w, false])).collect();
    let mut places: Vec<Place> = Vec::new();
    places.extend(
        FIELDS
            .iter()
            .map(|(n, w, _)| ("in".to_owned(), (*n).to_owned(), *w)),
    );
    for header in ["x", "y"] {
        places.extend(
            x_fields
                .iter()
                .map(|(n, w)| (header.to_owned(), n.clone(), *w)),
        );
    }
    for (name, width) in metadata {
        // Twice: what is written here is what gets copied.
        for _ in 0..2 {
            places.push(("scalars".to_owned(), name.to_owned(), width));
        }
    }
    for header in ["standard_metadata", "copy"] {
        places.push((header.to_owned(), "egress_spec".to_owned(), 9));
    }
    places.push(("copy".to_owned(), "mcast_grp".to_owned(), 16));
    let mut statements = Statements {
        choices,
        data,
        truths,
        places,
    };
    let mut actions = Vec::new();
    let ingress = statements.pipeline("ingress", &mut actions);
    let egress = statements.pipeline("egress", &mut actions);
    Parts {
        header_types: vec![
            json!({"name": "in_t", "id": 1, "fields": in_fields}),
            x_type,
            json!({"name": "scalars_t", "id": 3, "fields": list}),
        ],
        headers: vec![
            json!({"name": "in", "id": 1, "header_type": "in_t", "metadata": false}),
            json!({"name": "x", "id": 2, "header_type": "x_t", "metadata": false}),
            json!({"name": "y", "id": 3, "header_type": "x_t", "metadata": false}),
            json!({"name": "scalars", "id": 4, "header_type": "scalars_t", "metadata": true}),
            json!({"name": "copy", "id": 5, "header_type": "standard_metadata", "metadata": true}),
        ],
        parse_states: vec![accepting_state("start", &["in", "x"])],
        actions,
        ingress,
        egress,
        deparse: vec!["in".to_owned(), "x".to_owned(), "y".to_owned()],
        register_arrays: vec![json!({"name": "r", "id": 0, "size": 6, "bitwidth": 48})],
    }
    .json()
}
