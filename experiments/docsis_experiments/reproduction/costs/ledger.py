# SPDX-License-Identifier: Apache-2.0
"""The costs of works that were made here: a line each, beside the outcomes that are kept.

It outlives the outcomes: a version that makes them again takes about as long for it. A line that
is damaged says nothing, and is left out.
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docsis_experiments.reproduction.costs.features import NAMES, Features
from docsis_experiments.runs import files
from docsis_testbed.errors import TestbedError

FILE: Final = "costs.jsonl"

_MOST_BYTES: Final = 32 << 20
"""The largest file; above it, repeated costs of a condition are dropped."""

_WEIGHT: Final = 0.3
"""Weight of the newest cost of a condition in its mean, so that old ones are forgotten."""


@dataclass(frozen=True)
class Cost:
    """The cost of works of a condition.

    Attributes:
        features: The condition's features.
        seconds: The mean of a processor's seconds.
    """

    features: Features
    seconds: float


def machine() -> str:
    """The name and the processors of this machine."""
    return f"{platform.node()}, {_processor()}, {os.cpu_count()} processors"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()


def understood(content: dict[str, Any]) -> Cost:
    """Reads a cost that was written down.

    Args:
        content: Its condition, family, features and seconds; features of other versions are left
            out.

    Raises:
        ValueError: It is none; numbers that are negative or not finite are none either.
    """
    try:
        cost = _cost(content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"it is no cost ({error})") from None
    for number in (cost.seconds, *cost.features.values.values()):
        if not (math.isfinite(number) and number >= 0):
            raise ValueError(f"{number} is no cost")
    return cost


def _cost(content: dict[str, Any]) -> Cost:
    values = {name: float(value) for name, value in content["features"].items() if name in NAMES}
    features = Features(str(content["condition"]), str(content["family"]), values)
    return Cost(features, float(content["seconds"]))


class Ledger:
    """Costs of this machine by condition."""

    def __init__(self, folder: Path) -> None:
        """Args: where outcomes are kept.

        Raises:
            TestbedError: The file is there and cannot be read or shortened.
        """
        self._path = folder / FILE
        self._machine = machine()
        self.costs: dict[str, Cost] = {}
        for cost in self._read():
            self._take(cost)

    def note(self, features: Features, seconds: float) -> None:
        """Writes down what a work took.

        Raises:
            TestbedError: It cannot be written.
        """
        cost = Cost(features, seconds)
        self._take(cost)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(self._line(cost))
        except OSError as error:
            raise TestbedError(f"{self._path}: cannot be written ({error.strerror})") from None

    def _take(self, cost: Cost) -> None:
        before = self.costs.get(cost.features.condition)
        seconds = cost.seconds
        if before is not None:
            seconds = (1 - _WEIGHT) * before.seconds + _WEIGHT * seconds
        self.costs[cost.features.condition] = Cost(cost.features, seconds)

    def _read(self) -> Iterator[Cost]:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise TestbedError(f"{self._path}: cannot be read ({error.strerror})") from None
        lines = content.splitlines()
        if len(content) > _MOST_BYTES:
            lines = lines[-len(lines) // 2 :]
            files.write_atomically(self._path, b"\n".join([*lines, b""]))
        for line in lines:
            cost = self._understood(line)
            if cost is not None:
                yield cost

    def _line(self, cost: Cost) -> str:
        content = {
            "machine": self._machine,
            "condition": cost.features.condition,
            "family": cost.features.family,
            "features": dict(cost.features.values),
            "seconds": round(cost.seconds, 4),
        }
        return json.dumps(content, separators=(",", ":")) + "\n"

    def _understood(self, line: bytes) -> Cost | None:
        try:
            content: dict[str, Any] = json.loads(line)
            if content["machine"] != self._machine:
                return None
            return understood(content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
