# SPDX-License-Identifier: Apache-2.0
"""The changes that can be made to sources in P4 and in Rust."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_mutants import numbers
from docsis_mutants.braces import Token, closing, tokens
from docsis_mutants.site import Change, Operator

_RELATIONS: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_SHIFTS: Final = {"<<": ">>", ">>": "<<"}
_LOGIC: Final = {"&&": "||", "||": "&&", "&": "|", "|": "&", "^": "|"}
_SUMS: Final = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
_EXTREMES: Final = {"min": "max", "max": "min"}
_TRUTHS: Final = {"true": "false", "false": "true"}


@dataclass(frozen=True)
class Language:
    """The differences between the two.

    Attributes:
        products: What becomes of a product: P4 does not divide while it runs.
        no_operand: Names behind which an operator has one operand only.
        no_statement: Names with which something else than a call or an assignment begins.
        condition: Finds the condition behind the `if` or `while` at an index, as the indexes of
            its first token and of the one behind it; None where it is not a plain one.
    """

    products: Mapping[str, str]
    no_operand: frozenset[str]
    no_statement: frozenset[str]
    condition: Callable[[Sequence[Token], int], tuple[int, int] | None]


def _in_parentheses(found: Sequence[Token], at: int) -> tuple[int, int] | None:
    if at + 1 >= len(found) or found[at + 1].text != "(":
        return None
    end = closing(found, at + 2, ")")
    return None if end is None else (at + 2, end)


def _to_the_brace(found: Sequence[Token], at: int) -> tuple[int, int] | None:
    end = closing(found, at + 1, "{")
    if end is None or any(token.text == "let" for token in found[at + 1 : end]):
        return None
    return at + 1, end


P4: Final = Language(
    products={"*": "+", "|+|": "|-|", "|-|": "|+|"},
    no_operand=frozenset({"return", "in", "out", "inout"}),
    no_statement=frozenset(
        {
            *("const", "typedef", "type", "struct", "header", "enum", "table", "action", "control"),
            *("parser", "state", "transition", "return", "exit", "if", "else", "switch", "import"),
            *("key", "actions", "counters", "size", "default_action", "bit", "bool", "int"),
            *("register", "counter", "direct_counter"),
        }
    ),
    condition=_in_parentheses,
)
RUST: Final = Language(
    products={"*": "/", "/": "*", "%": "*", "*=": "/=", "/=": "*="},
    no_operand=frozenset({"return", "in", "if", "else", "match", "while", "move", "mut", "dyn"}),
    no_statement=frozenset(
        {
            *("let", "return", "break", "continue", "use", "mod", "const", "static", "pub", "fn"),
            *("type", "struct", "enum", "trait", "impl", "extern", "unsafe", "match", "if"),
            *("while", "for", "loop", "else", "where"),
        }
    ),
    condition=_to_the_brace,
)


def changes(text: str, language: Language) -> Iterator[Change]:
    """Yields all changes of a source, in the order of their places."""
    found = tokens(text)
    made = [
        change
        for at in range(len(found))
        for change in (
            *_of_operator(text, found, at, language),
            *_of_word(found, at),
            *_of_condition(text, found, at, language),
            *_of_statement(text, found, at, language),
        )
    ]
    yield from sorted(made, key=lambda change: (change.start, change.operator))


def _of_operator(
    text: str, found: Sequence[Token], at: int, language: Language
) -> Iterator[Change]:
    """An operator between two operands, which has space on both sides where the code is formatted.

    That tells it from a sign, a reference, a closure and the brackets of a type.
    """
    token = found[at]
    if token.kind != "sign" or at == 0 or not _spaced(text, token):
        return
    left = found[at - 1]
    operand = left.kind in ("number", "string") or left.text in (")", "]", "?")
    operand = operand or (left.kind == "name" and left.text not in language.no_operand)
    if not operand:
        return
    for operator, swaps in (
        (Operator.RELATION, _RELATIONS),
        (Operator.ARITHMETIC, {**_SUMS, **language.products}),
        (Operator.SHIFT, _SHIFTS),
        (Operator.LOGIC, _LOGIC),
    ):
        if token.text in swaps:
            yield Change(token.start, token.text, swaps[token.text], operator)


def _spaced(text: str, token: Token) -> bool:
    return text[token.start - 1].isspace() and text[token.end : token.end + 1].isspace()


def _of_word(found: Sequence[Token], at: int) -> Iterator[Change]:
    token, before = found[at], found[at - 1].text if at else ""
    if token.kind == "number" and not _no_value(found, at):
        for other in numbers.others(token.text):
            yield Change(token.start, token.text, other, Operator.CONSTANT)
    elif token.kind == "name" and token.text in _TRUTHS:
        yield Change(token.start, token.text, _TRUTHS[token.text], Operator.TRUTH)
    elif token.kind == "name" and token.text in _EXTREMES and before == ".":
        yield Change(token.start, token.text, _EXTREMES[token.text], Operator.EXTREME)


def _no_value(found: Sequence[Token], at: int) -> bool:
    """Whether a number is a type's width or a tuple's field."""
    before = found[at - 1].text if at else ""
    width = before == "<" and at > 1 and found[at - 2].text in ("bit", "int", "varbit")
    return before == "." or width


def _of_condition(
    text: str, found: Sequence[Token], at: int, language: Language
) -> Iterator[Change]:
    if found[at].kind != "name" or found[at].text not in ("if", "while"):
        return
    condition = language.condition(found, at)
    if condition is not None and condition[0] < condition[1]:
        start, end = found[condition[0]].start, found[condition[1] - 1].end
        before = text[start:end]
        yield Change(start, before, f"!({before})", Operator.NEGATION)


def _of_statement(
    text: str, found: Sequence[Token], at: int, language: Language
) -> Iterator[Change]:
    """A call or an assignment that begins at a token, which is left out."""
    if at == 0 or found[at - 1].text not in (";", "{", "}"):
        return
    first = found[at + 1] if found[at].text == "*" and at + 1 < len(found) else found[at]
    if first.kind != "name" or first.text in language.no_statement:
        return
    end = closing(found, at, ";")
    if end is None or end <= at + 1 or found[at + 1].text in ("!", ":") or _declares(found, at):
        return
    inner = found[at:end]
    if inner[-1].text == ")" or any(token.text.endswith("=") for token in inner):
        start, stop = found[at].start, found[end].end
        yield Change(start, text[start:stop], ";", Operator.STATEMENT)


def _declares(found: Sequence[Token], at: int) -> bool:
    """A type and a name, as in `bytes_t length = 0;`, or one with parameters, as in `counter(1)
    name;`: without the name nothing compiles.
    """
    return found[at].kind == "name" and found[at + 1].kind == "name"
