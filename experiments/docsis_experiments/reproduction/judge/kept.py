# SPDX-License-Identifier: Apache-2.0
"""Every outcome of every row, kept: that of before a repair stays beside that of after it.

A file of JSON lines, which is only ever appended to. One that is torn at its end, by a process that
died, loses that line alone; any line that is damaged is told with its number.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, ValidationError, field_validator

from docsis_control.config.models import Model
from docsis_experiments.experiment.canonical import canonical
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.reproduction.catalogue.part import as_enum
from docsis_experiments.reproduction.judge.verdict import RowJudged, Standing, Verdict
from docsis_experiments.reproduction.row import Level
from docsis_testbed.errors import TestbedError

MOST_BYTES: Final = 256 * 1024 * 1024
"""The largest file."""

MOST_LINE: Final = 256 * 1024
"""Bytes of a line; the rule with most parts has some 10,000."""

_MOST_TOLD: Final = 20


def _as_verdict(value: object) -> object:
    return Verdict(value) if isinstance(value, str) else value


MOST_NOTE: Final = 2000
"""Characters of what there is to say about an outcome."""

_Text = Annotated[str, Field(max_length=MOST_NOTE)]
_Number = Annotated[float | int, Field(allow_inf_nan=False)] | None
_Verdict = Annotated[Verdict | None, BeforeValidator(_as_verdict)]


class KeptPart(Model):
    """A part of an outcome; a number that is not finite is left out, and its method says why."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    value: _Number = None
    low: _Number = None
    high: _Number = None
    verdict: _Verdict = None
    why: _Text = ""


class Kept(Model):
    """The outcome of a row at one time."""

    row: Annotated[str, Field(pattern=r"^[0-9]{3}-[A-Za-z0-9-]{1,20}$")]
    reading: Annotated[int, Field(ge=1, le=99)]
    rule: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$", description="The rule's hash.")]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}(\+changes)?$")]
    date: Annotated[str, Field(description="With its time zone, ISO 8601.")]
    level: Annotated[Level, as_enum(Level)]
    mininet: bool = False
    extended: bool = False
    standing: Annotated[Standing, as_enum(Standing)]
    outcome: _Verdict = None
    definitions: bool | None = None
    why: _Text = ""
    note: Annotated[_Text, Field(description="What was repaired before it, if anything was.")] = ""
    parts: Annotated[tuple[KeptPart, ...], BeforeValidator(as_tuple), Field(max_length=1000)] = ()

    @field_validator("date")
    @classmethod
    def _date(cls, value: str) -> str:
        if datetime.fromisoformat(value).tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value


@dataclass(frozen=True)
class History:
    """The content of a file of outcomes.

    Attributes:
        outcomes: In the order of the file.
        told: What is damaged, in sentences.
    """

    outcomes: tuple[Kept, ...]
    told: tuple[str, ...]

    def of(self, row: str) -> tuple[Kept, ...]:
        """Those of one row, oldest first."""
        return tuple(one for one in self.outcomes if one.row == row)


def kept(
    judged: RowJudged,
    reading: int,
    *,
    commit: str,
    date: str,
    mininet: bool = False,
    extended: bool = False,
    note: str = "",
) -> Kept:
    """The record of one reading of a judged row.

    Args:
        judged: The row.
        reading: Its number.
        commit: The commit of the tree that made it, with "+changes" where that was not committed.
        date: When, ISO 8601 with the time zone.
        mininet: Whether it ran there.
        extended: Whether it had 60 seeds.
        note: What was repaired before it.
    """
    of = judged.readings[reading]
    return Kept(
        row=judged.rule.id,
        reading=reading,
        rule=judged.hash,
        commit=commit,
        date=date,
        level=judged.level,
        mininet=mininet,
        extended=extended,
        standing=of.standing,
        outcome=of.verdict,
        definitions=of.definitions,
        why=of.why[:MOST_NOTE],
        note=note,
        parts=tuple(
            KeptPart(
                name=one.part.name,
                value=_finite(one.estimate.value),
                low=_finite(one.estimate.interval.low) if one.estimate.interval else None,
                high=_finite(one.estimate.interval.high) if one.estimate.interval else None,
                verdict=one.verdict,
                why=one.why[:MOST_NOTE],
            )
            for one in of.parts
        ),
    )


def append(file: Path, outcome: Kept) -> None:
    """Adds an outcome to a file, which is made if it is not there, and waits for the disk.

    Raises:
        TestbedError: It cannot be written, or has no room left.
    """
    line = canonical(outcome.model_dump(mode="json", exclude_defaults=True)).encode() + b"\n"
    if len(line) > MOST_LINE:
        raise TestbedError(f"{file}: an outcome of {len(line)} bytes is too long to be kept")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab+") as stream:
            size = stream.seek(0, os.SEEK_END)
            if size + len(line) > MOST_BYTES:
                raise TestbedError(f"{file}: is full at {MOST_BYTES} bytes; put it aside")
            if size and not _ends_whole(stream.fileno(), size):
                line = b"\n" + line
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise TestbedError(f"{file}: cannot be written ({error.strerror})") from None


def read(file: Path) -> History:
    """All outcomes of a file; none where there is no file.

    Raises:
        TestbedError: It cannot be read, or is larger than any that this writes.
    """
    outcomes: list[Kept] = []
    told: list[str] = []
    damaged = 0
    try:
        if file.stat().st_size > MOST_BYTES:
            raise TestbedError(f"{file}: has more than {MOST_BYTES} bytes, so it is not read")
        with file.open("rb") as stream:
            number = 0
            while line := stream.readline(MOST_LINE + 1):
                number += 1
                try:
                    outcomes.append(_outcome(line))
                except ValueError as error:
                    damaged += 1
                    if len(told) < _MOST_TOLD:
                        told.append(f"{file}:{number}: is damaged and left out: {_short(error)}")
                while not line.endswith(b"\n") and len(line) > MOST_LINE:
                    line = stream.readline(MOST_LINE + 1)
    except FileNotFoundError:
        return History((), ())
    except OSError as error:
        raise TestbedError(f"{file}: cannot be read ({error.strerror})") from None
    if damaged > len(told):
        told.append(f"{file}: {damaged - len(told)} more lines are damaged")
    return History(tuple(outcomes), tuple(told))


def _outcome(line: bytes) -> Kept:
    if len(line) > MOST_LINE:
        raise ValueError(f"the line has more than {MOST_LINE} bytes")
    if not line.endswith(b"\n"):
        raise ValueError("the line has no end")
    try:
        return Kept.model_validate(json.loads(line))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _short(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        return f"{key}: {first['msg']}"[:200]
    return str(error)[:200]


def _ends_whole(descriptor: int, size: int) -> bool:
    return os.pread(descriptor, 1, size - 1) == b"\n"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
