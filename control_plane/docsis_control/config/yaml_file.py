# SPDX-License-Identifier: Apache-2.0
"""YAML files that still know their lines, and errors that name file, line and key."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scanner import RoundTripScanner, ScannerError

from docsis_control.config.errors import ConfigError, Problem
from docsis_control.config.models import KeyedError, Model

# Twice what the largest file of a modem comes to, and far deeper than any of ours.
_MOST_NODES: Final = 300_000
_DEEPEST: Final = 50

_MOST_BYTES: Final = 64 * _MOST_NODES
"""The largest file: as many values as it may have, and room for the longest line of a modem's."""

_HALF: Final = "has half of a character, such as \\ud800, which is no text"
_NULL: Final = "has a null character, which no text and no name of a file may have"

_M = TypeVar("_M", bound=BaseModel)

Location = tuple[int | str, ...]
"""Keys and list indices from the root of a document down to a value."""


class _Scanner(RoundTripScanner):
    """Refuses brackets that are nested too deep: ruamel's time grows with the square of them."""

    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:
        if len(self.flow_context) >= _DEEPEST:
            words = f"more than {_DEEPEST} brackets are open here"
            raise ScannerError(None, None, words, self.reader.get_mark())
        super().fetch_flow_collection_start(TokenClass, to_push)


@dataclass(frozen=True)
class Document:
    """A parsed YAML mapping that still knows its lines.

    Attributes:
        file: Place of the document in errors.
        root: The mapping.
        has_lines: Whether errors name lines: a mapping that a program made has none.
    """

    file: Path
    root: CommentedMap
    has_lines: bool = True

    def line(self, location: Location) -> int:
        """The line of a key, or of the nearest thing above it that exists; 0 without lines."""
        if not self.has_lines:
            return 0
        node: Any = self.root
        line = int(self.root.lc.line or 0)
        for part in location:
            if isinstance(node, CommentedMap):
                there = part in node
            else:
                there = isinstance(node, CommentedSeq) and part in range(len(node))
            if not there:
                break
            line, node = _line_in(node, part, line), node[part]
        return line + 1

    def problem(self, location: Location, message: str) -> Problem:
        """The problem with what is at a location."""
        return Problem(self.file, self.line(location), ".".join(map(str, location)), message)


def _line_in(node: CommentedMap | CommentedSeq, part: int | str, otherwise: int) -> int:
    """The line of a key or an item from 0; `otherwise` where ruamel does not know it.

    It knows none of the keys that `<<` merged into a mapping.
    """
    place = (node.lc.data or {}).get(part)
    return otherwise if place is None else int(place[0])


def plain(node: object) -> object:
    """Built-in containers and scalars instead of ruamel's, for strict validation."""
    if isinstance(node, Mapping):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(item) for item in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def read(file: Path) -> Document:
    """Reads a YAML mapping.

    Raises:
        ConfigError: The file cannot be read, or is not a YAML mapping.
    """
    if "\0" in str(file):
        # The character itself would not show in the message.
        raise ConfigError([Problem(Path(str(file).replace("\0", "\\0")), 0, "", _NULL)])
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            most = f"has more than {_MOST_BYTES:,} bytes, which is the most that a file may have"
            raise ConfigError([Problem(file, 0, "", most)])
        text = content.decode("utf-8")
    except FileNotFoundError:
        raise ConfigError([Problem(file, 0, "", "there is no such file")]) from None
    except IsADirectoryError:
        raise ConfigError([Problem(file, 0, "", "is a folder; give a file")]) from None
    except OSError as error:
        words = f"cannot be read ({error.strerror or error})"
        raise ConfigError([Problem(file, 0, "", words)]) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        words = f"cannot be read: byte {error.object[error.start]:#04x} is no UTF-8"
        raise ConfigError([Problem(file, line, "", words)]) from None
    return parse(text, file)


def parse(text: str, file: Path) -> Document:
    """Parses a YAML mapping; `file` is where errors say that it is.

    Raises:
        ConfigError: Not a YAML mapping.
    """
    try:
        yaml = YAML(typ="rt")
        yaml.Scanner = _Scanner
        root = yaml.load(text)
    except DuplicateKeyError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        key = str(error.problem or "").split('"')[1:2]
        raise ConfigError(
            [Problem(file, line, key[0] if key else "", "is given twice; keep one of them")]
        ) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(
            [Problem(file, mark.line + 1 if mark else 0, "", f"is not YAML: {error.problem}")]
        ) from None
    except YAMLError as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError([Problem(file, 0, "", f"is not YAML: {first}")]) from None
    except RecursionError:
        raise ConfigError([Problem(file, 0, "", "is nested too deep")]) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # From within the YAML library, for a scalar that does not fit its tag.
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError([Problem(file, 0, "", f"has a value that is no YAML: {first}")]) from None
    if not isinstance(root, CommentedMap):
        raise ConfigError([Problem(file, 1, "", "must be a mapping of keys to values")])
    document = Document(file, root)
    if (fault := _fault(document)) is not None:
        raise ConfigError([fault])
    return document


def of_mapping(data: Mapping[str, object], place: Path) -> Document:
    """Returns what a program made, as if it had been read from a file.

    Args:
        data: Texts, numbers, truth values, lists and mappings.
        place: Place of the document in errors; files that it names are relative to its folder.

    Raises:
        ConfigError: There is something else in it.
    """
    try:
        # JSON is YAML, and a value that is neither is told apart here.
        text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            [Problem(place, 0, "", f"has a value that no file could have: {error}")]
        ) from None
    return replace(parse(text, place), has_lines=False)


def _fault(document: Document) -> Problem | None:
    """The reason why a document cannot be worked with, if there is one."""
    nodes: list[tuple[object, Location]] = [(document.root, ())]
    seen = 0
    while nodes:
        node, place = nodes.pop()
        seen += 1
        if len(place) >= _DEEPEST:
            words = f"is nested more than {_DEEPEST} levels deep, or repeats itself by an alias"
            return document.problem(place[:1], words)
        if seen > _MOST_NODES:
            words = f"has more than {_MOST_NODES:,} values, those that aliases repeat included"
            return Problem(document.file, 0, "", words)
        if (tag := _unknown_tag(node)) is not None:
            return document.problem(place, f"has a tag, {tag}, which means nothing here")
        if isinstance(node, Mapping):
            if (wrong := next(filter(None, map(_no_text, node)), None)) is not None:
                # Such a key cannot be printed, so its mapping is named.
                return document.problem(place, wrong)
            nodes.extend((value, (*place, key)) for key, value in node.items())
        elif isinstance(node, list):
            nodes.extend((value, (*place, index)) for index, value in enumerate(node))
        elif (wrong := _no_text(node)) is not None:
            return document.problem(place, wrong)
    return None


def _unknown_tag(node: object) -> str | None:
    """The tag of a value that ruamel makes nothing of, if it has one."""
    if not isinstance(node, TaggedScalar | CommentedMap | CommentedSeq):
        return None
    # Values of tags that YAML itself knows, such as !!map, have none any more.
    tag = node.tag.value
    return None if tag is None else str(tag)


def _no_text(value: object) -> str | None:
    """The reason why a value is no text, though it is a string; YAML's escapes can write both."""
    if not isinstance(value, str):
        return None
    if any("\ud800" <= one <= "\udfff" for one in value):
        # UTF-8 has no room for half of a surrogate pair.
        return _HALF
    return _NULL if "\0" in value else None


def _model_at(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """The model that describes what is at a location."""
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if current else None
        if field is None:
            return None
        kinds = _kinds(field.annotation)
        current = next(
            (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
        )
    return current


def _kinds(annotation: object) -> Iterator[object]:
    """An annotation, and all that stands in it, as in `tuple[Model, ...] | None`."""
    yield annotation
    for inner in get_args(annotation):
        yield from _kinds(inner)


def quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _sentence(model: type[BaseModel], error: ErrorDetails) -> str:
    kind = error["type"]
    location = error["loc"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        parent = _model_at(model, location[:-1])
        hints = parent.elsewhere if parent is not None and issubclass(parent, Model) else {}
        if (hint := hints.get(str(location[-1]))) is not None:
            return f"unknown key; {hint}"
        known = list(parent.model_fields) if parent else []
        close = get_close_matches(str(location[-1]), known, n=1)
        meant = f'did you mean "{close[0]}"? ' if close else ""
        return f"unknown key; {meant}known here: {', '.join(known)}"
    if kind == "missing":
        parent = _model_at(model, location[:-1])
        field = parent.model_fields.get(str(location[-1])) if parent else None
        hint = f": {field.description}" if field and field.description else ""
        return f"is missing{hint.removesuffix('.')}"
    if kind == "value_error":
        return str(context["error"])
    value = quoted(error["input"])
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"must be a mapping of keys to values, not {value}"
    if kind in ("tuple_type", "list_type"):
        return f"must be a list, not {value}"
    expected = {
        "int_type": "a whole number",
        "bool_type": "true or false",
        "string_type": "a text",
    }.get(kind)
    if expected:
        return f"must be {expected}, not {value}"
    message = error["msg"]
    return f"{value} is not possible: {message[0].lower()}{message[1:]}"


def explain(model: type[BaseModel], error: ValidationError) -> list[tuple[bool, Location, str]]:
    """Why `model` refused its input: whether that may follow from another fault, where, and why."""
    found: list[tuple[bool, Location, str]] = []
    for detail in error.errors():
        location = detail["loc"]
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, KeyedError):
            location += tuple(int(p) if p.isdigit() else p for p in cause.key.split("."))
        # A misspelt key is also a missing one, and the cause comes first.
        found.append((detail["type"] != "extra_forbidden", location, _sentence(model, detail)))
    return found


def _as_is(location: Location) -> Location:
    return location


def validate(
    document: Document,
    model: type[_M],
    data: object,
    where: Callable[[Location], Location] = _as_is,
) -> _M:
    """The model of a document's data.

    Args:
        where: Maps a location in `data` to the one in the document.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        ranked = [
            (follows, document.problem(where(location), sentence))
            for follows, location, sentence in explain(model, error)
        ]
        ranked.sort(key=lambda entry: (entry[0], entry[1].line))
        raise ConfigError([problem for _, problem in ranked]) from None
