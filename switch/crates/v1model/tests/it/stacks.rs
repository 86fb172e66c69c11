// SPDX-License-Identifier: Apache-2.0
//! Header stacks and unions, on stacks.p4.

use crate::common::{Reader, pass, pipeline};

/// What a program of stacks.p4 reported, and the frame behind the report.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    parser_error: u128,
    last: u128,
    found: u128,
    equal: u128,
    rest: Vec<u8>,
}

fn run(frame: &[u8]) -> Report {
    let mut p = pipeline("stacks.json");
    let (_, out) = pass(&mut p, 1, frame).expect("a packet");
    let mut r = Reader(&out);
    Report {
        parser_error: r.number(4),
        last: r.number(4),
        found: r.number(1),
        equal: r.number(1),
        rest: r.0.to_vec(),
    }
}

const NO_MATCH: u128 = 2;
const OUT_OF_BOUNDS: u128 = 3;

/// A label: value and bottom bit.
const fn label(value: u8, bottom: u8) -> u8 {
    value << 1 | bottom
}

#[test]
fn the_parser_fills_a_stack_until_its_end() {
    let two = [0, 0, label(1, 0), label(2, 1), 9, 9];
    let r = run(&two);
    assert_eq!((r.parser_error, r.last), (0, 1));
    assert_eq!(r.rest, two, "options of no kind are payload");
    let three = [0, 2, label(1, 0), label(2, 0), label(3, 1), 9];
    let r = run(&three);
    assert_eq!((r.parser_error, r.last, r.found), (0, 2, 1));
    assert_eq!(r.rest, three);
    let four = [0, 3, label(1, 0), label(2, 0), label(3, 0), label(4, 1)];
    let r = run(&four);
    assert_eq!((r.parser_error, r.found), (OUT_OF_BOUNDS, 0));
    assert_eq!(r.rest, four, "the fourth label is payload");
}

/// Of `?:`, `&&` and `||` only those operands are evaluated that decide (P4_16 8.1): one that
/// cannot be evaluated stops the parser only then.
#[test]
fn an_element_that_is_not_there_is_no_error_where_it_does_not_count() {
    use serde_json::{Value, json};
    let expression = |op: &str, left: Value, right: Value| json!({"type": "expression", "value": {"op": op, "left": left, "right": right}});
    let number = |text: &str| json!({"type": "hexstr", "value": text});
    let last = json!({"type": "stack_field", "value": ["labels", "value"]});
    let op = json!({"type": "field", "value": ["command", "op"]});
    let is_one = expression("==", op.clone(), number("0x1"));
    let is_two = expression("==", last.clone(), number("0x2"));
    let as_number = |of: Value| expression("b2d", Value::Null, of);
    let choice = |yes: &Value, no: &Value| {
        json!({"type": "expression", "value": {
            "op": "?", "cond": is_one, "left": yes, "right": no}})
    };
    let yes = json!({"type": "bool", "value": true});
    let high = expression("<<", last.clone(), number("0x40"));
    let wide = expression(
        ">>",
        choice(&high, &number("0x70000000000000000")),
        number("0x40"),
    );
    // What is set before there is a label, the op that evaluates it, and what it is otherwise.
    for (value, evaluated, otherwise) in [
        (choice(&last, &number("0x7")), 1, 7),
        (choice(&number("0x7"), &last), 0, 7),
        (wide, 1, 7),
        (as_number(choice(&is_two, &yes)), 1, 1),
        (
            as_number(expression("and", is_one.clone(), is_two.clone())),
            1,
            0,
        ),
        (
            as_number(expression("or", is_one.clone(), is_two.clone())),
            0,
            1,
        ),
    ] {
        let text = include_str!("../programs/stacks.json");
        let mut json: Value = serde_json::from_str(text).unwrap();
        let states = json["parsers"][0]["parse_states"].as_array_mut().unwrap();
        let start = states.iter_mut().find(|s| s["name"] == "start").unwrap();
        let target = json!({"type": "field", "value": ["scalars", "metadata_t.last"]});
        let set = json!({"op": "set", "parameters": [target, value]});
        start["parser_ops"].as_array_mut().unwrap().push(set);
        let labelled = states.iter_mut().find(|s| s["name"] == "labelled").unwrap();
        labelled["parser_ops"] = json!([]);
        let program = v1model::Program::load(json.to_string().as_bytes()).unwrap();
        let mut p = v1model::Pipeline::new(std::sync::Arc::new(program), 1);
        for op in [0, 1] {
            let (_, out) = pass(&mut p, 1, &[op, 0, label(1, 1), 9]).unwrap();
            let mut r = Reader(&out);
            let found = (r.number(4), r.number(4));
            if op == evaluated {
                assert_eq!(found.0, OUT_OF_BOUNDS, "{value}");
            } else {
                assert_eq!(found, (0, otherwise), "{value}");
            }
        }
    }
}

#[test]
fn push_and_pop_move_validity_and_bytes() {
    let labels = [label(1, 0), label(2, 1), 9];
    let r = run(&[[1, 0].as_slice(), &labels].concat());
    let pushed = [1, 0, label(0x55, 0), label(1, 0), label(2, 1), 9];
    assert_eq!(r.rest, pushed);
    let full = [label(1, 0), label(2, 0), label(3, 1), 9];
    let r = run(&[[1, 0].as_slice(), &full].concat());
    assert_eq!(
        r.rest,
        [1, 0, label(0x55, 0), label(1, 0), label(2, 0), 9],
        "the last one falls off"
    );
    let r = run(&[[2, 1].as_slice(), &labels].concat());
    assert_eq!(
        (r.rest.as_slice(), r.found),
        ([2, 1, label(2, 1), 9].as_slice(), 0)
    );
    // More than there is room for: all invalid.
    let r = run(&[[10, 0].as_slice(), &full].concat());
    assert_eq!(r.rest, [10, 0, 9]);
}

#[test]
fn an_index_may_be_known_only_with_the_packet() {
    let labels = [label(1, 0), label(2, 1), 9];
    let with = |op: u8, index: u8| run(&[[op, index].as_slice(), &labels].concat());
    assert_eq!(with(3, 1).rest, [3, 1, label(1, 0), label(3, 1), 9]);
    assert_eq!(with(3, 0).rest, [3, 0, label(2, 0), label(2, 1), 9]);
    assert_eq!(
        with(3, 3).rest,
        [3, 3, label(1, 0), label(2, 1), 9],
        "past the end nothing is written"
    );
    assert_eq!(with(4, 0).rest, [4, 0, label(2, 1), 9]);
    assert_eq!(with(4, 3).rest, [4, 3, label(1, 0), label(2, 1), 9]);
    assert_eq!(
        with(5, 1).rest,
        [5, 1, label(1, 0), label(2, 1), label(2, 1), 9]
    );
    assert_eq!(
        with(5, 2).rest,
        [5, 2, label(1, 0), label(2, 1), 9],
        "a copy of an invalid header is invalid"
    );
    assert_eq!(
        with(6, 2).rest,
        [6, 2, label(1, 0), label(2, 1), label(0x11, 1), 9]
    );
}

#[test]
fn a_key_may_be_an_element_with_an_index() {
    let labels = [label(0x7f, 0), label(2, 0), label(0x7f, 1), 9];
    let equal = |index: u8| run(&[[0, index].as_slice(), &labels].concat()).equal;
    assert_eq!([0, 1, 2, 3].map(equal), [0x40, 0, 0x40, 0]);
}

#[test]
fn headers_are_equal_when_both_are_invalid_or_the_same() {
    let one = |labels: &[u8]| run(&[[0, 0].as_slice(), labels].concat()).equal;
    assert_eq!(one(&[label(1, 0), label(1, 1)]), 0, "bottom differs");
    assert_eq!(one(&[label(1, 0), label(1, 0), label(1, 1)]), 1);
    assert_eq!(one(&[label(1, 1)]), 0, "one is invalid");
    assert_eq!(run(&[10, 0, label(1, 1)]).equal, 1, "both are invalid");
}

#[test]
fn of_a_union_one_member_is_valid() {
    let frame = |op: u8, options: &[u8]| [[op, 0, label(1, 1)].as_slice(), options].concat();
    let options = [2, 1, 2, 3, 1, 7, 0xee];
    let r = run(&frame(0, &options));
    assert_eq!((r.parser_error, r.equal), (0, 0));
    assert_eq!(r.rest, frame(0, &options));
    // The first falls out of the stack, as a whole union.
    assert_eq!(run(&frame(8, &options)).rest, frame(8, &[1, 7, 0xee]));
    // The second, a short one, becomes a long one.
    assert_eq!(
        run(&frame(9, &options)).rest,
        frame(9, &[2, 1, 2, 3, 2, 1, 2, 3, 0xee])
    );
    // A third does not fit.
    let three = [1, 1, 1, 2, 1, 3];
    let r = run(&frame(0, &three));
    assert_eq!(
        (r.parser_error, &r.rest),
        (OUT_OF_BOUNDS, &frame(0, &three))
    );
    // Making one member valid makes the other invalid.
    let r = run(&frame(7, &[3, 0x44, 0xee]));
    assert_eq!(r.equal, 2);
    assert_eq!(r.rest, frame(7, &[0, 0xab, 0xcd, 0xef, 0xee]));
    // So does an assignment, and one of an invalid union makes both invalid.
    let r = run(&frame(11, &[2, 1, 2, 3, 3, 0x44, 0xee]));
    assert_eq!(r.rest, frame(11, &[2, 1, 2, 3, 2, 1, 2, 3, 0xee]));
    assert_eq!(run(&frame(11, &[3, 0x44, 0xee])).rest, frame(11, &[0xee]));
}

#[test]
fn a_select_without_a_match_is_an_error() {
    let text = include_str!("../programs/stacks.json");
    // The select of the state "labels" as if it had no case for 1.
    let cut = text.replacen("\"value\" : \"0x01\"", "\"value\" : \"0x00\"", 1);
    let frame = [0, 0, label(1, 1), 9];
    for (bmv2_quirks, error) in [(false, NO_MATCH), (true, 0)] {
        let options = v1model::LoadOptions {
            bmv2_quirks,
            ..v1model::LoadOptions::default()
        };
        let program = v1model::Program::load_with(cut.as_bytes(), &options).unwrap();
        let mut p = v1model::Pipeline::new(std::sync::Arc::new(program), 1);
        let (_, out) = pass(&mut p, 1, &frame).unwrap();
        assert_eq!(Reader(&out).number(4), error);
    }
}
