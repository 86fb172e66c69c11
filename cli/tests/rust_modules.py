# SPDX-License-Identifier: Apache-2.0
"""Finds the import circles between the modules of a Rust crate, for tests.

A module depends on another one when it names it in a `use` or in a path that begins with `crate`,
`super` or `self`. A name that a module re-exports counts as one of the module that defines it. A
module and those inside it are one in this respect: a module may name what one around it holds, as
Rust's rules of privacy have it, and that makes no circle. Tests do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# Names from the crate's root, which is `()`, to the module.
Module = tuple[str, ...]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TEST_FILE = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;"
)
_TESTS = re.compile(
    r"^#\[cfg\((?:all\()?test\b[^\n]*\]\s*mod\s+\w+\s*\{.*?^\}", re.DOTALL | re.MULTILINE
)
_USE = re.compile(r"^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
_PATH = re.compile(r"(?<![\w:])(?:crate|super|self)(?:::\w+)+")
_MOST_RE_EXPORTS = 16


@dataclass
class _Source:
    """The paths that each module of a crate names, and the names that modules re-export."""

    paths: dict[Module, set[Module]] = field(default_factory=dict)
    re_exports: dict[Module, Module] = field(default_factory=dict)


def dependencies(source: Path) -> dict[Module, set[Module]]:
    """Maps each module of a crate, whose `src` folder is `source`, to those that it depends on."""
    files = _modules(source)
    found = _Source()
    for module, path in files.items():
        _read(module, path, files, found)
    graph: dict[Module, set[Module]] = {}
    for module, paths in found.paths.items():
        named = {_owner(path, files, found.re_exports) for path in paths}
        graph[module] = {other for other in named if module[: len(other)] != other}
    return graph


def circle(source: Path) -> list[str]:
    """Returns the modules of one import circle of a crate, whose `src` folder is `source`.

    They are in their order, and the first one is at the end again. Without a circle there are none.
    """
    try:
        TopologicalSorter(dependencies(source)).prepare()
    except CycleError as error:
        # graphlib gives each node before the one that depends on it.
        nodes: list[Module] = error.args[1]
        return ["::".join(("crate", *node)) for node in reversed(nodes)]
    return []


def _modules(source: Path) -> dict[Module, Path]:
    """Maps each module that is no test to its file."""
    found: dict[Module, Path] = {}
    tests: set[Module] = set()
    for path in sorted(source.rglob("*.rs")):
        names = path.relative_to(source).with_suffix("").parts
        module: Module = names[:-1] if names[-1] in {"lib", "main", "mod"} else names
        found[module] = path
        tests.update(
            (*module, name) for name in _TEST_FILE.findall(path.read_text(encoding="utf-8"))
        )
    return {
        module: path
        for module, path in found.items()
        if not any(module[: len(test)] == test for test in tests)
    }


def _read(module: Module, path: Path, files: dict[Module, Path], found: _Source) -> None:
    text = _TESTS.sub("", _COMMENT.sub("", path.read_text(encoding="utf-8")))
    paths = found.paths.setdefault(module, set())
    for shown, tree in _USE.findall(text):
        for written, name in _leaves(tree):
            absolute = _absolute(module, written, files)
            if absolute is None:
                continue
            if shown:
                found.re_exports[(*module, name)] = absolute
            # A module that re-exports a name of a module inside it does not depend on that module.
            if not (shown and absolute[: len(module)] == module):
                paths.add(absolute)
    for written in _PATH.findall(_USE.sub("", text)):
        absolute = _absolute(module, written.split("::"), files)
        if absolute is not None:
            paths.add(absolute)


def _leaves(tree: str) -> Iterator[tuple[list[str], str]]:
    """Yields each path of a `use` tree, in parts, with the name that it gets."""
    tree = tree.strip()
    before, brace, inside = tree.partition("{")
    if not brace:
        written, _, alias = tree.partition(" as ")
        parts = [part for part in re.sub(r"\s", "", written).split("::") if part]
        if len(parts) > 1 and parts[-1] == "self":
            del parts[-1]
        if parts:
            yield parts, alias.strip() or parts[-1]
        return
    for part in _split(inside.rpartition("}")[0]):
        yield from _leaves(before + part)


def _split(inside: str) -> Iterator[str]:
    """Yields the parts between the commas of the outermost level that are not empty."""
    depth, part = 0, ""
    for letter in inside:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                yield part
            part = ""
        else:
            part += letter
    if part.strip():
        yield part


def _absolute(module: Module, parts: list[str], files: dict[Module, Path]) -> Module | None:
    """Returns the path from the crate's root, or None when it leads into another crate."""
    if parts[0] == "crate":
        return tuple(parts[1:])
    if parts[0] == "self":
        return (*module, *parts[1:])
    if parts[0] == "super":
        depth = next((at for at, part in enumerate(parts) if part != "super"), len(parts))
        return (*module[: len(module) - depth], *parts[depth:])
    return (*module, *parts) if (*module, parts[0]) in files else None


def _owner(path: Module, files: dict[Module, Path], re_exports: dict[Module, Module]) -> Module:
    """Returns the module that holds what a path names."""
    for _ in range(_MOST_RE_EXPORTS):
        length = next(
            length for length in range(len(path), -1, -1) if path[:length] in files or length == 0
        )
        shown = path[: length + 1]
        if len(path) == length or re_exports.get(shown, shown) == shown:
            return path[:length]
        path = (*re_exports[shown], *path[length + 1 :])
    return ()
