# SPDX-License-Identifier: Apache-2.0
"""Files of commands that run in hosts and servers: see `own_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import Model
from docsis_control.config.schema import DIALECT
from docsis_control.config.units import Duration
from docsis_control.config.yaml_file import plain, read, validate
from docsis_testbed.errors import TestbedError
from docsis_testbed.own_commands import OwnCommand

_LONGEST_START: Final = 86_400 * 10**9
"""Nanoseconds."""


def _words(value: object) -> object:
    if not isinstance(value, list):
        raise ValueError("is not a list of words, such as [ping, -c, 3, server1]")
    for word in value:
        if isinstance(word, bool) or not isinstance(word, str | int | float):
            raise ValueError(f"{word!r} is not a word; put it into quotes")
    return tuple(map(str, value))


Words = Annotated[
    tuple[str, ...],
    BeforeValidator(_words),
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1}),
]


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class HostCommand(Model):
    """A command in a host or server."""

    host: str = Field(description="Name of the host or server.")
    run: Words = Field(
        description="The program and its arguments, without a shell. Numbers are passed on in "
        "their shortest form; put them into quotes if their digits matter."
    )
    start: Duration = Field(
        default=0,
        description="Time from the system's readiness to its start, at most a day; 0 s unless "
        "given.",
    )

    @field_validator("start")
    @classmethod
    def _within_a_day(cls, value: int) -> int:
        if value > _LONGEST_START:
            raise ValueError("a command must start within 86400 s, a day")
        return value


class CommandFile(Model):
    """Commands that run in hosts and servers while a system runs."""

    commands: Annotated[tuple[HostCommand, ...], BeforeValidator(_as_tuple)]


def load_commands(file: Path) -> list[OwnCommand]:
    """Reads a file of commands.

    Raises:
        TestbedError: It cannot be used; file, line and key are in the message.
    """
    try:
        document = read(file)
        found = validate(document, CommandFile, plain(document.root))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    return [OwnCommand(one.host, one.run, one.start / 1e9) for one in found.commands]


def json_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of a file of commands."""
    return {"$schema": DIALECT, **CommandFile.model_json_schema()}
