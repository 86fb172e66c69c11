// SPDX-License-Identifier: Apache-2.0
//! What a user is told: where a test is no STF, which name is unknown, which
//! digits differ.

use std::path::Path;
use std::sync::Arc;
use stf::{Failure, Outcome};
use v1model::Program;

fn run(name: &str, test: &str) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../v1model/tests/programs")
        .join(name);
    let json = std::fs::read(path).expect("the program is committed");
    let program = Arc::new(Program::load(&json).expect("the program is supported"));
    let script = stf::parse(test).expect("this is STF");
    stf::run(program, &script, &stf::Options::default())
}

fn syntax(test: &str) -> String {
    stf::parse(test).expect_err(test).to_string()
}

#[test]
fn says_where_a_test_is_no_stf_and_what_was_expected() {
    for (test, words) in [
        (
            "packt 0 00",
            "line 1, column 1: `packt` is no statement; expected one of add,",
        ),
        (
            "packet 0 00\nwait\nfoo",
            "line 3, column 1: `foo` is no statement",
        ),
        ("packet x 00", "line 1, column 8: `x` is no port"),
        ("packet -1 00", "line 1, column 8: `-1` is no port"),
        (
            "packet 0 0g",
            "line 1, column 11: expected a hexadecimal digit, not `G`",
        ),
        (
            "packet 0 00*",
            "line 1, column 12: expected a hexadecimal digit, not `*`",
        ),
        ("packet 0 000", "line 1, column 10: the packet has 3 digits"),
        (
            "packet 0",
            "line 1, column 9: expected the packet's bytes, but the statement ends here",
        ),
        (
            "expect 0 00$ 11",
            "line 1, column 14: expected nothing behind `$`",
        ),
        (
            "add t a:",
            "line 1, column 9: expected a value, but the statement ends",
        ),
        (
            "add t a:1",
            "line 1, column 10: expected a key field or an action",
        ),
        (
            "add t a:0xq b()",
            "line 1, column 9: `q` is no digit of `0xq`",
        ),
        (
            "add t a b()",
            "line 1, column 9: expected `:` behind a key field or `(` behind an action",
        ),
        ("add t a:1 b(c:1", "line 1, column 16: expected `,` or `)`"),
        ("add t a:1 b(c)", "line 1, column 14: expected `:`, not `)`"),
        (
            "add t a[x]:1 b()",
            "line 1, column 9: expected an index, not `x`",
        ),
        (
            "check_counter c(1) packets = 2",
            "line 1, column 28: expected `==`",
        ),
        (
            "setdefault t ?",
            "line 1, column 14: `?` has no meaning here",
        ),
        (
            "remove some",
            "line 1, column 8: expected `all`, not `some`",
        ),
        ("wait for", "line 1, column 6: expected the end of `wait`"),
        (
            "add \"t a:1 b()",
            "line 1, column 5: a name in quotation marks must end",
        ),
    ] {
        let error = syntax(test);
        assert!(error.starts_with(words), "{test}: {error}");
    }
}

#[test]
fn takes_comments_odd_spacing_any_case_and_statements_over_lines() {
    let test = "  # nothing\r\n\r\n\tADD  exact_table\tkey : 0x1 ,, \n";
    assert!(stf::parse(test).is_err());
    let outcome = run(
        "match_kinds.json",
        "Add \"I.exact_table\" key:0o4\n  second:2  mark ( value : 18 )\r\n\
         Packet 0 00 00\n 0402 // comment\n00 #\n\nEXPECT 1 0000 04\n 02 12$\n",
    );
    assert!(outcome.passed(), "{}", outcome.text("t"));
}

#[test]
fn names_what_is_unknown_and_what_there_is() {
    for (test, words) in [
        (
            "add nothing a:1 b()",
            "t:1:5: there is no table `nothing`; there is I.",
        ),
        (
            "add exact_table third:1 mark(value:1)",
            "t:1:17: there is no key field of table I.exact_table `third`; there is hdr.probe.key, hdr.probe.second",
        ),
        (
            "\nadd exact_table key:1 marks(value:1)",
            "t:2:23: there is no action of table I.exact_table `marks`; there is I.mark, I.missed",
        ),
        (
            "add exact_table key:1 mark(v:1)",
            "t:1:28: there is no parameter of action I.mark `v`; there is value",
        ),
        (
            "add exact_table key:1 mark()",
            "t:1:23: action I.mark needs a value for its parameter value",
        ),
        (
            "add exact_table key:0x12345 mark(value:1)",
            "t:1:21: 0x12345 does not fit into the 16 bits of key field hdr.probe.key",
        ),
        (
            "add exact_table key:1 mark(value:256)",
            "t:1:34: 256 does not fit into the 8 bits of parameter value",
        ),
        (
            "add exact_table key:0x1* mark(value:2)",
            "t:1:21: key field hdr.probe.key takes no `*`",
        ),
        (
            "add exact_table key:1/2 mark(value:2)",
            "t:1:17: key field hdr.probe.key is matched Exact, and a prefix is given",
        ),
        (
            "add lpm_table key:1/17 mark(value:2)",
            "t:1:21: the prefix length 17 is more than 16",
        ),
        (
            "add table key:1 mark(value:1)",
            "t:1:5: table `table` may be I.exact_table or I.",
        ),
        (
            "register_read r 0",
            "t:1:15: there is no register `r`, nor any other",
        ),
        (
            "check_counter c($x)",
            "t:1:17: no entry was added with `= x`",
        ),
        (
            "mc_node_associate 1 0",
            "t:1:21: there is no node 0; 0 were made",
        ),
        (
            "add const_table 1 key:0x1 mark(value:1)",
            "t:1: table I.const_table: const entries",
        ),
        ("packet 600 00", "t:1: port 600 is more than 511"),
    ] {
        let outcome = run("match_kinds.json", test);
        let text = outcome.text("t");
        assert!(text.starts_with(words), "{test}: {text}");
        assert!(
            matches!(outcome.failures[0], Failure::Statement(_)),
            "{test}"
        );
    }
}

#[test]
fn marks_the_digits_that_differ() {
    let outcome = run(
        "match_kinds.json",
        "packet 0 0012340900\nexpect 1 001234*9 12 00\nexpect 1 *\npacket 1 ff0000\n",
    );
    let text = outcome.text("t");
    assert_eq!(
        text,
        "t:2: frame 1 of port 1 differs in 4 digits, first in byte 4 (packet of line 1)\n\
        \x20 expected     0  00 12 34 *9 12 00\n\
        \x20 received     0  00 12 34 09 EE\n\
        \x20                             ^^ ^^\n",
        "{text}"
    );
}

#[test]
fn tells_missing_and_unexpected_frames() {
    let outcome = run(
        "match_kinds.json",
        "packet 0 0000000000\npacket 0 0000000100\nno_packet\nexpect 1 0000000100\nexpect 2 11\n",
    );
    let text = outcome.text("t");
    assert!(
        text.contains("t:3: the packet of line 2 gives 1 frames, not none"),
        "{text}"
    );
    assert!(text.contains("t:5: frame 1 of port 2 is missing"), "{text}");
    assert!(text.contains("expected     0  11"), "{text}");
    let json = outcome.json();
    assert_eq!(json["passed"], false);
    assert_eq!(
        json["failures"].as_array().map(Vec::len),
        Some(outcome.failures.len())
    );
}

#[test]
fn shows_the_way_of_the_packet_that_failed() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../v1model/tests/programs/match_kinds.json");
    let json = std::fs::read(path).expect("the program is committed");
    let program = Arc::new(Program::load(&json).expect("the program is supported"));
    let script = stf::parse(
        "packet 0 0012340900\npacket 0 0100000000\nexpect 1 00123409ee\nexpect 1 0100000001\n",
    )
    .expect("this is STF");
    let options = stf::Options {
        explain: true,
        ..stf::Options::default()
    };
    let outcome = stf::run(program, &script, &options);
    let text = outcome.text("t");
    assert_eq!(outcome.traces.len(), 1, "{text}");
    assert!(text.contains("t:2: this packet's way:"), "{text}");
    assert!(text.contains("lpm_table"), "{text}");
    assert!(!text.contains("exact_table"), "{text}");
}
