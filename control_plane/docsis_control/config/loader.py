# SPDX-License-Identifier: Apache-2.0
"""Reads configuration files and says precisely where they are wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from docsis_control.config.errors import ConfigError, Problem
from docsis_control.config.models import KeyedError, ServiceTier, Topology

TIERS: Final = "tiers"
"""Folder of the service tiers, beside the topologies."""

_M = TypeVar("_M", bound=BaseModel)
_Location = tuple[int | str, ...]


@dataclass(frozen=True)
class _Document:
    """A parsed YAML mapping that still knows its lines."""

    file: Path
    root: CommentedMap

    def line(self, location: _Location) -> int:
        """The line of a key, or of the nearest thing above it that exists."""
        node: object = self.root
        line = int(self.root.lc.line or 0)
        for part in location:
            if isinstance(node, CommentedMap) and part in node:
                line = int(node.lc.key(part)[0])
                node = node[part]
            elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
                line = int(node.lc.item(part)[0])
                node = node[part]
            else:
                break
        return line + 1

    def problem(self, location: _Location, message: str) -> Problem:
        return Problem(self.file, self.line(location), ".".join(map(str, location)), message)


def _plain(node: object) -> object:
    """Built-in containers and scalars instead of ruamel's, for strict validation."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _read(file: Path) -> _Document:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError([Problem(file, 0, "", "there is no such file")]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(file, 0, "", f"cannot be read: {error}")]) from None
    try:
        root = YAML(typ="rt").load(text)
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
    if not isinstance(root, CommentedMap):
        raise ConfigError([Problem(file, 1, "", "must be a mapping of keys to values")])
    return _Document(file, root)


def _model_at(model: type[BaseModel], location: _Location) -> type[BaseModel] | None:
    """The model that describes what is at a location."""
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if current else None
        if field is None:
            return None
        kinds = [field.annotation, *get_args(field.annotation)]
        current = next(
            (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
        )
    return current


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _sentence(model: type[BaseModel], error: ErrorDetails) -> str:
    kind = error["type"]
    location = error["loc"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        parent = _model_at(model, location[:-1])
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
    value = _quoted(error["input"])
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


def _problems(document: _Document, model: type[BaseModel], error: ValidationError) -> list[Problem]:
    problems: list[tuple[bool, Problem]] = []
    for detail in error.errors():
        location = detail["loc"]
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, KeyedError):
            location += tuple(int(p) if p.isdigit() else p for p in cause.key.split("."))
        problem = document.problem(location, _sentence(model, detail))
        problems.append((detail["type"] != "extra_forbidden", problem))
    # A misspelt key is also a missing one, and the cause comes first.
    problems.sort(key=lambda ranked: (ranked[0], ranked[1].line))
    return [problem for _, problem in problems]


def _validate(document: _Document, model: type[_M], data: object) -> _M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_problems(document, model, error)) from None


def load_tier(file: Path) -> ServiceTier:
    """Reads a service tier.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = _read(file)
    tier = _validate(document, ServiceTier, _plain(document.root))
    if tier.name != file.stem:
        raise ConfigError(
            [document.problem(("name",), f'"{tier.name}" must be the file\'s name, "{file.stem}"')]
        )
    return tier


def load_topology(file: Path | str, tier: str | None = None) -> Topology:
    """Reads a topology and the service tier that it names.

    Args:
        file: The topology's YAML file.
        tier: Name of a tier that replaces the file's: a file in tiers/ beside the
            topology, without .yaml.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    file = Path(file)
    document = _read(file)
    data = _plain(document.root)
    assert isinstance(data, dict)
    named = tier if tier is not None else data.get("tier")
    # A run's record holds the tier itself in place of its name.
    if tier is not None or not isinstance(data.get("tier", {}), dict):
        data["tier"] = _named_tier(document, named, from_file=tier is None)
    return _validate(document, Topology, data)


def _named_tier(document: _Document, name: object, *, from_file: bool) -> ServiceTier:
    def problem(message: str) -> ConfigError:
        if from_file:
            return ConfigError([document.problem(("tier",), message)])
        return ConfigError([Problem(document.file, 0, "tier", message)])

    if not isinstance(name, str) or not name:
        raise problem(f"must be the name of a service tier, not {_quoted(name)}")
    folder = document.file.parent / TIERS
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        choice = f"there are {', '.join(known)}" if known else f"there are none in {folder}"
        raise problem(f'there is no service tier "{name}"; {choice}')
    return load_tier(folder / f"{name}.yaml")
