# SPDX-License-Identifier: Apache-2.0
"""One of several models, chosen by a key of the mapping; errors have the file's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import ValidationError

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.yaml_file import explain, quoted


def chosen_by(tag: str, *models: type[Model]) -> Callable[[object], object]:
    """A validator that turns a mapping into the model whose default of `tag` it names.

    pydantic's own union would put the tag's value among the keys of an error.
    """
    known: Mapping[str, type[Model]] = {m.model_fields[tag].default: m for m in models}

    def choose(value: object) -> object:
        if isinstance(value, models):
            return value
        if not isinstance(value, Mapping):
            raise ValueError(f"must be a mapping of keys to values, not {quoted(value)}")
        name = value.get(tag)
        if not isinstance(name, str) or name not in known:
            what = "is missing" if tag not in value else f"{quoted(name)} is none"
            raise KeyedError(tag, f"{what}: one of {', '.join(known)}")
        try:
            return known[name].model_validate(value)
        except ValidationError as error:
            found = sorted(explain(known[name], error), key=lambda entry: entry[0])
            _, location, sentence = found[0]
            raise KeyedError(".".join(map(str, location)), sentence) from None

    return choose


def as_tuple(value: object) -> object:
    """A YAML list, for strict models."""
    return tuple(value) if isinstance(value, list) else value
