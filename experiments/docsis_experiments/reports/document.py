# SPDX-License-Identifier: Apache-2.0
"""The common part of every experiment's summary.json; each has a schema of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from docsis_experiments.reports.metric_schema import metric_properties
from docsis_testbed.errors import TestbedError

VERSION: Final = 3
"""Version of the shape of a scenario's summary. Summaries of the first shape have no number."""

_OLD: Final[Mapping[str, str]] = {"latency": "a demo", "shares": "shares"}
"""The names that summaries of commands had, if any, before those were scenarios."""

_DIGITS: Final = 6

_LONGEST_MESSAGE: Final = 300
"""Characters; jsonschema's messages repeat what they are about, however long that is."""

SCHEMAS: Final[Mapping[str, str]] = {
    "figures": "figures.schema.json",
    "scenario": "scenario.schema.json",
    "sweep": "sweep.schema.json",
    "repeated": "repeated.schema.json",
    "comparison": "comparison.schema.json",
    "population": "population.schema.json",
    "reproduction": "reproduction.schema.json",
}
"""Schema by experiment, which is a key of the summary. Keys that came later are not required, so
that the report of an older run can be written again."""

_TIMED: Final = ("scenario", "repeated")
"""Experiments in real time."""


def experiment_of(summary: object) -> str:
    """The experiment of a summary.

    Raises:
        TestbedError: it is of none that we know.
    """
    if not isinstance(summary, dict):
        raise TestbedError("summary.json: must be a mapping")
    name = summary.get("experiment", next(iter(_OLD)))
    if not isinstance(name, str):
        raise TestbedError("summary.json: experiment: must be a text")
    if name in _OLD:
        raise TestbedError(
            f"summary.json: is of {_OLD[name]} from before it was a scenario, and its shape is "
            "no longer read; its folder has the report that was written then"
        )
    if name not in SCHEMAS:
        raise TestbedError(
            f'summary.json: experiment: there is no "{name}"; there are {", ".join(SCHEMAS)}'
        )
    return name


def schema(experiment: str) -> dict[str, Any]:
    """The JSON Schema of an experiment's summary.json."""
    file = resources.files("docsis_experiments.reports").joinpath(SCHEMAS[experiment])
    parsed: dict[str, Any] = json.loads(file.read_text())
    if experiment == "scenario":
        parsed["$defs"]["group"]["properties"] |= metric_properties()
    if experiment in _TIMED:
        # What they share stands once; so it does in the schema that is written for users.
        shared = resources.files("docsis_experiments.reports").joinpath("timing.schema.json")
        parsed["$defs"] |= json.loads(shared.read_text())["$defs"]
    return parsed


@cache
def _validator(experiment: str) -> Draft202012Validator:
    """Checks documents against the schema of an experiment.

    It does not check the schema itself, which takes longer than a document; a test does.
    """
    return Draft202012Validator(schema(experiment))


def validate(summary: dict[str, Any]) -> None:
    """Refuse a summary that is not in the documented shape.

    Raises:
        TestbedError: naming the place.
    """
    check(summary, experiment_of(summary), "summary.json")


def check(content: Mapping[str, Any], experiment: str, name: str) -> None:
    """Refuse a document that does not match the schema of an experiment.

    Args:
        content: The document.
        experiment: One of `SCHEMAS`.
        name: What the message calls the document.

    Raises:
        TestbedError: Naming the place.
    """
    error = best_match(_validator(experiment).iter_errors(content))
    if error is not None:
        place = ".".join(str(part) for part in error.absolute_path) or "the top"
        raise TestbedError(f"{name}: {place}: {error.message[:_LONGEST_MESSAGE]}")


_LARGEST: Final = 2**64 - 1
"""A seed may be so large."""


def untrusted(text: bytes) -> Any:
    """Reads JSON that may come from anywhere.

    Raises:
        ValueError: It is none, or has a number that no result has: one that is not finite, or an
            integer of more than 64 bits.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, parse_float=_real, parse_int=_whole, parse_constant=_real)


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not finite")
    return value


def _whole(text: str) -> int:
    if len(text) > len(str(-_LARGEST)) or abs(value := int(text)) > _LARGEST:
        raise ValueError(f"{text[:20]}... has more than 64 bits")
    return value


def finite(value: float) -> float | None:
    """A value for JSON, which has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def rounded(value: Any) -> Any:
    """Floats to a microsecond's and a bit's worth of digits, so that people can read them."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value
