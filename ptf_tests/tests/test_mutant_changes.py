# SPDX-License-Identifier: Apache-2.0
"""The changes that mutants are made of: each operator in each language, and what stays alone."""

from __future__ import annotations

import ast

import pytest

from docsis_mutants import braced_changes, numbers, python_changes
from docsis_mutants.braced_changes import P4, RUST
from docsis_mutants.site import Change, Operator, line_digest, located, mutated


def told(changes: list[Change]) -> list[tuple[str, str, str]]:
    return [(change.operator.value, change.before, change.after) for change in changes]


def p4(text: str) -> list[tuple[str, str, str]]:
    return told(list(braced_changes.changes(text, P4)))


def rust(text: str) -> list[tuple[str, str, str]]:
    return told(list(braced_changes.changes(text, RUST)))


def python(text: str) -> list[tuple[str, str, str]]:
    return told(list(python_changes.changes(text)))


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("0", ["1"]),
        ("1", ["2", "0"]),
        ("16", ["17", "15", "32"]),
        ("0xff", ["256", "254", "510"]),
        ("1_000u64", ["1001u64", "999u64", "2000u64"]),
        ("8w3", ["8w4", "8w2", "8w6"]),
        ("0.02", ["0.04", "0.01"]),
        ("0.0", ["1.0"]),
    ],
)
def test_numbers_have_neighbours_and_a_double(literal: str, expected: list[str]) -> None:
    assert list(numbers.others(literal)) == expected


def test_p4_has_every_operator() -> None:
    text = """
    apply {
        if (a < b && c == 2) {
            d = e + f;
        }
        g = h >> i;
        drop = true;
        counted.count((bit<32>)j);
    }
    """
    assert p4(text) == [
        ("negation", "a < b && c == 2", "!(a < b && c == 2)"),
        ("relation", "<", "<="),
        ("logic", "&&", "||"),
        ("relation", "==", "!="),
        ("constant", "2", "3"),
        ("constant", "2", "1"),
        ("constant", "2", "4"),
        ("statement", "d = e + f;", ";"),
        ("arithmetic", "+", "-"),
        ("statement", "g = h >> i;", ";"),
        ("shift", ">>", "<<"),
        ("statement", "drop = true;", ";"),
        ("truth", "true", "false"),
        ("statement", "counted.count((bit<32>)j);", ";"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "// a < b + 1\n",
        "/* if (a < 1) { b(); } */\n",
        '#include "types_2.p4"\n',
        '@name("flow_1") ',
        "typedef bit<32> bytes_t;\n",
        "control C() { register<bit<8>>(QUEUES) phase_; apply { } }",
        "control C() { bytes_t length; apply { } }",
        "state start { transition accept; }",
    ],
)
def test_p4_that_stays(text: str) -> None:
    assert p4(text) == []


def test_rust_has_every_operator() -> None:
    text = """
    fn f(&mut self, a: u64) -> u64 {
        if a >= self.b || !self.c.is_empty() {
            self.d += a * 1;
            return self.d.min(1 << a);
        }
        self.e = false;
    }
    """
    found = rust(text)
    assert ("negation", "a >= self.b || !self.c.is_empty()") in [each[:2] for each in found]
    assert [each for each in found if each[0] not in ("negation", "constant")] == [
        ("relation", ">=", ">"),
        ("logic", "||", "&&"),
        ("statement", "self.d += a * 1;", ";"),
        ("arithmetic", "+=", "-="),
        ("arithmetic", "*", "/"),
        ("extreme", "min", "max"),
        ("shift", "<<", ">>"),
        ("statement", "self.e = false;", ";"),
        ("truth", "false", "true"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "/// Bytes < 1522 && more.\nstruct S;",
        "#[derive(Debug, Clone)]\n#[allow(x = true)]\nstruct S<'a>(&'a u8);",
        "fn f(v: Vec<Vec<u32>>) -> Option<&'static str> { v.map(|x| x).or(None) }",
        "fn f() { let a = g(*b, &c, -d, || e); }",
        "fn f() { if let Some(a) = b { c } }",
        "fn f(a: &(u8, u8)) -> u8 { a.0 }",
        "#[cfg(test)]\nmod tests { fn f() { assert!(1 < 2); } }",
        "#[cfg(test)]\nfn f(a: u64) { b(a + 1); }",
        'fn f() -> &str { "a + 1 < 2" }',
    ],
)
def test_rust_that_stays(text: str) -> None:
    assert rust(text) == []


def test_what_follows_rusts_tests_is_found() -> None:
    text = "#[cfg(test)]\nmod tests { fn f() { 1 } }\nfn g() -> bool { true }"
    assert rust(text) == [("truth", "true", "false")]


def test_python_has_every_operator() -> None:
    text = """
def f(self, a):
    if a < 0 and a is not None:
        self.b = np.minimum(a, self.c)
    d = ~a & (a >> a)
    d += a * a
    g(True)
    return d if a else 0.5
"""
    assert python(text) == [
        ("negation", "a < 0 and a is not None", "not (a < 0 and a is not None)"),
        ("relation", "<", "<="),
        ("constant", "0", "1"),
        ("logic", "and", "or"),
        ("relation", "is not", "is"),
        ("statement", "self.b = np.minimum(a, self.c)", "pass"),
        ("extreme", "minimum", "maximum"),
        ("negation", "~", ""),
        ("logic", "&", "|"),
        ("shift", ">>", "<<"),
        ("statement", "d += a * a", "pass"),
        ("arithmetic", "+=", "-="),
        ("arithmetic", "*", "/"),
        ("statement", "g(True)", "pass"),
        ("truth", "True", "False"),
        ("negation", "a", "not (a)"),
        ("constant", "0.5", "1.0"),
        ("constant", "0.5", "0.25"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"""1 < 2."""\n',
        "def f(a: int | None) -> int | None:\n    return a  # a + 1\n",
        "a: Final[int] = b\n",
        "@dataclass(frozen=True)\nclass C:\n    a: tuple[int, ...]\n",
        "class C:\n    def __init__(self):\n        super().__init__()\n        self.a = b\n",
        "assert a < 1\n",
        "a, b = c\n",
    ],
)
def test_python_that_stays(text: str) -> None:
    assert python(text) == []


def test_an_operator_behind_a_comment_and_parentheses_is_found() -> None:
    text = "a = (\n    (b)  # - and *\n    + c\n)\n"
    (change,) = python_changes.changes(text)
    assert (change.before, text[change.start]) == ("+", "+")


def test_letters_of_several_bytes_do_not_shift_a_place() -> None:
    text = 'a = f("µ", b < c)\n'
    (change,) = python_changes.changes(text)
    assert text[change.start] == "<"
    ast.parse(mutated(located("f.py", text, change), text))


def test_a_change_is_made_where_it_was_found_and_nowhere_else() -> None:
    text = "f(a + b);\nf(a + b);\n"
    change = Change(text.rindex("+"), "+", "-", Operator.ARITHMETIC)
    site = located("x.rs", text, change)
    assert (site.line, site.column, site.digest) == (2, 5, line_digest("f(a + b);"))
    assert mutated(site, text) == "f(a + b);\nf(a - b);\n"


@pytest.mark.parametrize("text", ["f(a + b);\nf(a + c);\n", "f(a + b);\n", "x\nf(a + b) ;\n"])
def test_a_line_that_has_changed_is_refused(text: str) -> None:
    listed = "f(a + b);\nf(a + b);\n"
    site = located("x.rs", listed, Change(listed.rindex("+"), "+", "-", Operator.ARITHMETIC))
    with pytest.raises(ValueError, match=r"x\.rs"):
        mutated(site, text)
