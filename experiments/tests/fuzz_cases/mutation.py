# SPDX-License-Identifier: Apache-2.0
"""Changes YAML and JSON as trees, so that what comes of it still gets past the parser."""

from __future__ import annotations

import copy
import io
import json
import math
import random
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

Tree = Any
"""Mappings with text as keys, lists and scalars."""


class Form(Enum):
    """What an input usually is."""

    YAML = "yaml"
    JSON = "json"
    BYTES = "bytes"


SCALARS: Final = (
    None, True, False, 0, 1, -1, 2, 255, 65_536, 2**31, 2**53 + 1, 2**63 - 1, 2**64, 10**30,
    -(2**63), 0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf,
    "", " ", "0", "1", "-1 ms", "0 ms", "1 ns", "10 s", "1e9 s", "99999999999999999999 s",
    "0 bps", "1 bps", "1 kbps", "1 Tbps", "0 B", "1 B", "1500 B", "1 GB", "nan", "inf",
    "drop-tail", "codel", "docsis-pie", "../..", "/", "/dev/null", "a" * 300, "\x00", "\u202e",
    "\ud800", "e\u0301", "<script>", "[bold]", "=cmd", "\x1b[2J", "10.0.0.1/24", "::1",
    "ff:ff:ff:ff:ff:ff", "2001:db8::/32", "10.0.0.1/33",
)  # fmt: skip
"""Values at which programs go wrong: limits, units, names, text that means something elsewhere."""

_MOST_CHANGES: Final = 4


def parsed(data: bytes, form: Form) -> Tree:
    """The tree of an input.

    Raises:
        ValueError: It is none.
    """
    if form is Form.JSON:
        return json.loads(data)
    try:
        return YAML(typ="safe", pure=True).load(data.decode())
    except (YAMLError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(str(error)) from None


def written(tree: Tree, form: Form) -> bytes:
    """The input of a tree."""
    if form is Form.JSON:
        return json.dumps(tree).encode()
    sink = io.BytesIO()
    dumper = YAML(typ="safe", pure=True)
    dumper.default_flow_style = None
    dumper.width = 10_000
    try:
        dumper.dump(tree, sink)
    except (YAMLError, UnicodeError):
        # Half a surrogate pair has no UTF-8: the parser has to see it nevertheless.
        return json.dumps(tree).encode()
    return sink.getvalue()


def mutated(data: bytes, form: Form, chance: random.Random) -> bytes:
    """An input that is changed in one to four places; in its bytes where it is no tree."""
    try:
        tree = parsed(data, form) if form is not Form.BYTES else None
    except (ValueError, RecursionError):
        tree = None
    if tree is None or chance.random() < 0.1:
        return _other_bytes(data, chance)
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        tree = _changed(tree, chance)
    try:
        return written(tree, form)
    except (RecursionError, TypeError, ValueError):
        return _other_bytes(data, chance)


def _other_bytes(data: bytes, chance: random.Random) -> bytes:
    content = bytearray(data)
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        at = chance.randint(0, len(content))
        match chance.randrange(3):
            case 0:
                content[at : at + chance.randint(1, 16)] = b""
            case 1:
                content[at:at] = chance.randbytes(chance.randint(1, 8))
            case _ if at < len(content):
                content[at] ^= 1 << chance.randrange(8)
    return bytes(content)


Place = tuple[Any, Any]
"""A mapping or list, and a key or index of it."""


def places(tree: Tree) -> list[Place]:
    """Each place of a tree that holds a value."""
    found: list[Place] = []
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        held = (
            node.items()
            if isinstance(node, Mapping)
            else enumerate(node)
            if isinstance(node, list)
            else ()
        )
        for key, value in held:
            found.append((node, key))
            nodes.append(value)
    return found


def _changed(tree: Tree, chance: random.Random) -> Tree:
    every = places(tree)
    if not every:
        return chance.choice(SCALARS)
    node, key = chance.choice(every)
    _CHANGES[chance.randrange(len(_CHANGES))](node, key, every, chance)
    return tree


def _scalar(node: Any, key: Any, every: list[Place], chance: random.Random) -> None:
    node[key] = chance.choice(SCALARS)


def _number(node: Any, key: Any, every: list[Place], chance: random.Random) -> None:
    value = node[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        node[key] = chance.choice([value + 1, value - 1, -value, value * 2, value * 1_000_000])
    elif isinstance(value, str):
        node[key] = value.replace(" ", f"{chance.choice('019.-')} ", 1)


def _removed(node: Any, key: Any, every: list[Place], chance: random.Random) -> None:
    del node[key]


def _doubled(node: Any, key: Any, every: list[Place], chance: random.Random) -> None:
    if isinstance(node, list):
        node.insert(key, copy.deepcopy(node[key]))
    else:
        node[chance.choice(["", "name", "x", f"{key}s", f"{key} "])] = copy.deepcopy(node[key])


def _moved(node: Any, key: Any, every: list[Place], chance: random.Random) -> None:
    """Puts a value from elsewhere here, so that a value of the right kind is in the wrong place."""
    other, place = chance.choice(every)
    node[key] = copy.deepcopy(other[place])


def _wrapped(node: Any, key: Any, every: list[Place], chance: random.Random) -> None:
    node[key] = [node[key]] if chance.random() < 0.5 else {"name": node[key]}


_CHANGES: Final[tuple[Callable[[Any, Any, list[Place], random.Random], None], ...]] = (
    _scalar,
    _scalar,
    _number,
    _number,
    _removed,
    _doubled,
    _moved,
    _moved,
    _wrapped,
)
