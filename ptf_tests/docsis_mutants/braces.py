# SPDX-License-Identifier: Apache-2.0
"""P4 and Rust as tokens: enough of both to find operators, numbers, conditions and statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<directive>^\#[ \t]*(?:include|define|if|ifdef|ifndef|else|elif|endif|undef)\b[^\n]*)
    | (?P<attribute>\#!?\[(?:[^\[\]]|\[[^\]]*\])*\])
    | (?P<annotation>@[A-Za-z_]\w*(?:\("[^"]*"\))?)
    | (?P<string>b?"(?:\\.|[^"\\])*"|r\#*".*?"\#*|b?'(?:\\.[^']*|[^'\\])')
    | (?P<lifetime>'[A-Za-z_]\w*)
    | (?P<number>\d+[ws]\d+|0[xX][0-9a-fA-F_]+(?:[iu](?:8|16|32|64|128|size))?
        |\d[\d_]*(?:\.\d[\d_]*)?(?:[iuf](?:8|16|32|64|128|size))?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>\|\+\||\|-\||<<=|>>=|\.\.=|\.\.|->|=>|::|==|!=|<=|>=|&&|\|\||<<|>>|\+\+
        |[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CODE: Final = ("string", "lifetime", "number", "name", "sign", "attribute", "annotation")
_OPEN: Final = frozenset("([{")
_CLOSED: Final = frozenset(")]}")
_FOR_TESTS: Final = "#[cfg(test)]"


@dataclass(frozen=True)
class Token:
    """A token of the source.

    Attributes:
        kind: string, lifetime, number, name, sign, attribute or annotation.
        text: Its characters.
        start: Offset of the first one.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset behind it."""
        return self.start + len(self.text)


def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a source without comments, directives of the preprocessor, and Rust's tests."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in _CODE:
            found.append(Token(kind, match.group(), match.start()))
    kept = _without_tests(found)
    return tuple(token for token in kept if token.kind not in ("attribute", "annotation"))


def _without_tests(found: Sequence[Token]) -> Iterator[Token]:
    at = 0
    while at < len(found):
        if found[at].text == _FOR_TESTS:
            at = _behind_item(found, at + 1)
        else:
            yield found[at]
            at += 1


def _behind_item(found: Sequence[Token], at: int) -> int:
    """The index behind an item, which ends with a semicolon or with its closing brace."""
    depth = 0
    while at < len(found):
        text = found[at].text
        at += 1
        if text in _OPEN:
            depth += 1
        elif text in _CLOSED:
            depth -= 1
        if depth == 0 and text in (";", "}"):
            break
    return at


def closing(found: Sequence[Token], at: int, ends: str) -> int | None:
    """The index of the next token of `ends` outside of brackets that open behind `at`.

    Returns:
        None if a bracket closes before that opened before.
    """
    depth = 0
    for index in range(at, len(found)):
        token = found[index]
        if token.kind != "sign":
            continue
        if depth == 0 and token.text in ends:
            return index
        if token.text in _OPEN:
            depth += 1
        elif token.text in _CLOSED:
            depth -= 1
            if depth < 0:
                return None
    return None
