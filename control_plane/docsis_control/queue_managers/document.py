# SPDX-License-Identifier: Apache-2.0
"""A queue management as the operator writes it: a preset's name, a YAML file, a mapping."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from ruamel.yaml import YAML

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.config.schema import DIALECT
from docsis_control.config.yaml_file import explain, plain, quoted, read, validate
from docsis_control.own_files import created
from docsis_control.queue_managers.management import QueueManagement, as_written
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.queue_managers.registry import ADAPTER, ALGORITHMS

_ALGORITHM: Final = "algorithm"
SUFFIXES: Final = (".yaml", ".yml")
"""Suffixes of files; any other argument is a preset's name."""


def from_argument(text: str) -> QueueManagement:
    """Reads the argument of `--aqm`: the name of a preset, or a YAML file with one mapping.

    Raises:
        ConfigError: With the file, the line and the key of what is wrong in it.
        ValueError: It is neither; the message lists the names.
    """
    if text.endswith(SUFFIXES):
        return from_file(Path(text))
    if text not in [preset.value for preset in Preset]:
        raise ValueError(
            f'there is no queue manager "{text}"; there are {", ".join(Preset)}; '
            "or give a file whose name ends in .yaml"
        )
    return PRESETS[Preset(text)]


def from_file(file: Path) -> QueueManagement:
    """Reads a YAML file with one mapping.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    data = plain(document.root)
    assert isinstance(data, dict)
    try:
        model = ALGORITHMS[_algorithm(data)]
    except KeyedError as error:
        raise ConfigError([document.problem((error.key,), str(error))]) from None
    managed = validate(document, model, data)
    return ADAPTER.validate_python(managed)


def from_mapping(data: Mapping[str, Any]) -> QueueManagement:
    """The same from a mapping, as `as_written` gives it.

    Raises:
        KeyedError: It is none; the key is from its root.
    """
    # Not by the union, whose errors have its tag among their keys.
    model = ALGORITHMS[_algorithm(data)]
    try:
        return ADAPTER.validate_python(model.model_validate(data))
    except ValidationError as error:
        found = sorted(explain(model, error), key=lambda entry: entry[0])
        _, location, sentence = found[0]
        raise KeyedError(".".join(map(str, location)), sentence) from None


def changed(management: QueueManagement, values: Mapping[str, Any]) -> QueueManagement:
    """The same with other values; null takes a key away.

    Raises:
        KeyedError: The result is no queue management, or of another algorithm; the key is from its
            root.
    """
    if values.get(_ALGORITHM, management.algorithm) != management.algorithm:
        raise KeyedError(_ALGORITHM, "cannot be changed; choose another queue manager")
    return from_mapping(_merged(as_written(management), values))


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in new.items():
        inner = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = _merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _algorithm(data: Mapping[str, Any]) -> str:
    known = ", ".join(ALGORITHMS)
    if _ALGORITHM not in data:
        raise KeyedError(_ALGORITHM, f"is missing: one of {known}")
    name = data[_ALGORITHM]
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise KeyedError(_ALGORITHM, f"{quoted(name)} is no queue manager; there are {known}")
    return name


def write(management: QueueManagement, file: Path) -> None:
    """Writes the YAML file that `from_file` reads."""
    yaml = YAML()
    yaml.default_flow_style = False
    with created(file) as stream:
        yaml.dump(as_written(management), stream)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of such a file."""
    schema = ADAPTER.json_schema()
    for model in ALGORITHMS.values():
        part = schema["$defs"][model.__name__]
        written = as_written(ADAPTER.validate_python(model()))
        for key, described in part["properties"].items():
            if key in written:
                described["default"] = written[key]
            else:
                described.pop("default", None)
        # Python has a default for it, a file must say it.
        part["required"] = [_ALGORITHM]
        del part["properties"][_ALGORITHM]["default"]
    return {"$schema": DIALECT, **schema}
