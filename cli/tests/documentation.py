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
_MARK = re.compile(r"<!-- (?:tested(?:, exit status (?P<status>\d+))?|file: (?P<file>\S+)) -->")


@dataclass(frozen=True)
class Link:
    """A link of a page, as it is written there, and the line of its paragraph (from 1)."""

    target: str
    line: int


@dataclass(frozen=True)
class File:
    """A block that a reader writes into a file: `<!-- file: NAME -->` stands in front of it."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that a reader types, with what the page says that it prints and how it ends.

    A block of such commands has `<!-- tested -->` in front of it. A line that begins with "$ " is
    a command, and the lines behind it are some of what it prints, in order. "..." alone stands for
    lines that are left out, and within a line for what differs from one run to the next.
    """

    words: str
    prints: tuple[str, ...]
    status: int
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


def steps(page: Path) -> Iterator[File | Command]:
    """Yields the files and commands of the page's marked blocks, in the order of the page.

    Raises:
        ValueError: A mark stands in front of something else, or a block begins with no command.
    """
    mark = None
    for token in _tokens(page):
        if mark is not None:
            if token.type != "fence":
                raise ValueError(f"{page}:{_line(token)}: a block has to follow {mark[0]}")
            if mark["file"]:
                yield File(mark["file"], token.content)
            else:
                yield from _commands(page, token, int(mark["status"] or 0))
        mark = _MARK.fullmatch(token.content.strip()) if token.type == "html_block" else None


def _commands(page: Path, token: Token, status: int) -> Iterator[Command]:
    line, *rest = (block_line.rstrip() for block_line in token.content.splitlines())
    if not line.startswith("$ "):
        raise ValueError(f"{page}:{_line(token)}: the block does not begin with a command")
    groups = [[line]]
    for following in rest:
        if following.startswith("$ "):
            groups.append([following])
        else:
            groups[-1].append(following)
    for number, (command, *printed) in enumerate(groups, start=1):
        shown = tuple(text for text in printed if text and text != "...")
        last = number == len(groups)
        yield Command(command.removeprefix("$ "), shown, status if last else 0, _line(token))


def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
