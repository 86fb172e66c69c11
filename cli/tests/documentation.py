# SPDX-License-Identifier: Apache-2.0
"""Reads the documentation's pages for tests: links, headings, and blocks of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TESTED = "<!-- tested -->"


@dataclass(frozen=True)
class Link:
    """A link of a page, as it is written there, and the line of its paragraph (from 1)."""

    target: str
    line: int


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line where it begins (from 1)."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """Returns all pages of the site and the READMEs and notices of the repository, sorted."""
    return sorted({*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("*/README.md")})


def links(page: Path) -> Iterator[Link]:
    """Yields every link and picture of the page, those in tables included."""
    for token in _tokens(page):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                yield Link(str(target), _line(token))


def anchors(page: Path) -> set[str]:
    """Returns the names under which the page's headings can be linked to, as forges make them."""
    found: dict[str, int] = {}
    names = set()
    tokens = _tokens(page)
    for opening, content in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(child.content for child in content.children or ())
        name = re.sub(r"[^\w\s-]", "", text.strip().lower()).replace(" ", "-")
        number = found.get(name, 0)
        found[name] = number + 1
        names.add(f"{name}-{number}" if number else name)
    return names


def tested_blocks(page: Path) -> Iterator[Block]:
    """Yields the fenced blocks of the page that a line `<!-- tested -->` stands in front of."""
    before = None
    for token in _tokens(page):
        if token.type == "fence" and before is not None:
            yield Block(token.info.strip(), token.content, _line(token))
        if token.nesting >= 0:
            marked = token.type == "html_block" and token.content.strip() == TESTED
            before = token if marked else None


def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
