// SPDX-License-Identifier: Apache-2.0
//! Lowered expressions equal BMv2's arithmetic, for random expressions.

use crate::common::pass;
use crate::generate::expression::{Data, FIELDS, Truth, bytes_of, data, fields_of, truth};
use crate::generate::*;
use num_bigint::BigInt;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use v1model::*;

/// Bits of the results; the header with the operands has padding to whole bytes.
const WIDTHS: [u32; 4] = [64, 32, 8, 120];
const OPERANDS: usize = 41;

fn program(expressions: &[Data], condition: &Truth) -> Vec<u8> {
    let mut fields: Vec<Value> = FIELDS.iter().map(|(n, w, s)| json!([n, w, s])).collect();
    let bits: u32 = FIELDS.iter().map(|f| f.1).sum();
    assert_eq!(bits.div_ceil(8) as usize, OPERANDS);
    if bits % 8 != 0 {
        fields.push(json!(["padding", 8 - bits % 8, false]));
    }
    let results = expressions.iter().enumerate();
    let results: Vec<Value> = results
        .map(|(n, _)| json!([format!("r{n}"), WIDTHS[n % WIDTHS.len()], false]))
        .chain([json!(["truth", 8, false])])
        .collect();
    let mut primitives = vec![primitive(
        "assign",
        &[field("standard_metadata", "egress_spec"), constant("0x1")],
    )];
    primitives.push(primitive(
        "add_header",
        &[json!({"type": "header", "value": "out"})],
    ));
    for (n, expression) in expressions.iter().enumerate() {
        let to = field("out", &format!("r{n}"));
        primitives.push(primitive("assign", &[to, expression.json()]));
    }
    // A jump decides it, as p4c's conditions in actions do.
    let at = primitives.len();
    let jump = |to: usize| constant(&format!("{to:#x}"));
    primitives.push(primitive(
        "_jump_if_zero",
        &[condition.json(), jump(at + 3)],
    ));
    primitives.push(primitive(
        "assign",
        &[field("out", "truth"), constant("0x1")],
    ));
    primitives.push(primitive("_jump", &[jump(at + 4)]));
    primitives.push(primitive(
        "assign",
        &[field("out", "truth"), constant("0x2")],
    ));
    Parts {
        header_types: vec![
            json!({"name": "in_t", "id": 1, "fields": fields}),
            json!({"name": "out_t", "id": 2, "fields": results}),
        ],
        headers: vec![
            json!({"name": "in", "id": 1, "header_type": "in_t", "metadata": false}),
            json!({"name": "out", "id": 2, "header_type": "out_t", "metadata": false}),
        ],
        parse_states: vec![accepting_state("start", &["in"])],
        actions: vec![
            json!({"name": "act", "id": 0, "runtime_data": [], "primitives": primitives}),
        ],
        ingress: calling("ingress", Some(0)),
        egress: calling("egress", None),
        deparse: vec!["out".to_owned(), "in".to_owned()],
        register_arrays: Vec::new(),
    }
    .json()
}

/// What the program should put in front of a frame.
fn expected(expressions: &[Data], condition: &Truth, frame: &[u8]) -> Vec<u8> {
    let fields: Vec<BigInt> = fields_of(frame);
    let mut bytes = Vec::new();
    for (n, expression) in expressions.iter().enumerate() {
        bytes.extend(bytes_of(
            &expression.value(&fields),
            WIDTHS[n % WIDTHS.len()],
        ));
    }
    bytes.push(if condition.value(&fields) { 1 } else { 2 });
    bytes
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), OPERANDS),
        prop::collection::vec(prop::sample::select(vec![0u8, 0x7f, 0x80, 0xff]), OPERANDS),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn expressions_equal_unbounded_arithmetic(
        expressions in prop::collection::vec(data(), 1..5),
        condition in truth(data()),
        frames in prop::collection::vec(frames(), 4),
    ) {
        let json = program(&expressions, &condition);
        let program = match Program::load(&json) {
            Ok(program) => program,
            // Too wide or too long for the machine: refused, not wrong.
            Err(e) => {
                let known = ["not supported", "supported", "intermediate values"];
                prop_assert!(known.iter().any(|k| e.message.contains(k)), "{}", e);
                return Ok(());
            }
        };
        let mut pipeline = Pipeline::new(Arc::new(program), 0);
        for frame in &frames {
            let (port, out) = pass(&mut pipeline, 0, frame).expect("nothing drops");
            prop_assert_eq!(port, 1);
            let mut wanted = expected(&expressions, &condition, frame);
            wanted.extend_from_slice(frame);
            prop_assert_eq!(out, wanted);
        }
    }
}
