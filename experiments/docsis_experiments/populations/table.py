# SPDX-License-Identifier: Apache-2.0
"""The results of all tests: a row for each test of each arm, and its file."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from docsis_experiments.populations.testing import REQUESTS, UPLOADS, PlannedTest
from docsis_experiments.runs.files import write_atomically
from docsis_experiments.runs.outcome import Outcome


@dataclass(frozen=True)
class ResultOfTest:
    """A test with what came of it; a value is NaN where nothing was there to be measured.

    Attributes:
        arm: Its label.
        number: Number of the test: the same subscriber in all arms.
        seed: Seed of all that is random in it.
        tier: What the subscriber bought.
        modem: What the subscriber has in this arm.
        drawn_ms: The idle round trip that was drawn.
        idle_ms: The mean idle round trip that was measured.
        mean_ms, p99_ms, max_ms: Round trips under load.
        requests: How many were made under load.
        unanswered: Percent of them.
        goodput_mbps: Goodput of the uploads.
        key: Key of its inputs and of what made it.
        digest: Digest of all that happened in it; "" in Mininet.
    """

    arm: str
    number: int
    seed: int
    tier: str
    modem: str
    drawn_ms: float
    idle_ms: float
    mean_ms: float
    p99_ms: float
    max_ms: float
    requests: float
    unanswered: float
    goodput_mbps: float
    key: str
    digest: str

    @property
    def added_ms(self) -> float:
        """The mean delay that load adds to the idle round trip."""
        return self.mean_ms - self.idle_ms


_COLUMNS: Final[Sequence[tuple[str, str, pa.DataType]]] = (
    ("arm", "arm", pa.string()),
    ("test", "number", pa.uint32()),
    ("seed", "seed", pa.uint64()),
    ("tier", "tier", pa.string()),
    ("modem", "modem", pa.string()),
    ("drawn_round_trip_ms", "drawn_ms", pa.float64()),
    ("idle_round_trip_ms", "idle_ms", pa.float64()),
    ("mean_ms", "mean_ms", pa.float64()),
    ("p99_ms", "p99_ms", pa.float64()),
    ("max_ms", "max_ms", pa.float64()),
    ("added_ms", "added_ms", pa.float64()),
    ("requests", "requests", pa.float64()),
    ("unanswered_percent", "unanswered", pa.float64()),
    ("goodput_mbps", "goodput_mbps", pa.float64()),
    ("key", "key", pa.string()),
    ("digest", "digest", pa.string()),
)
"""The file's columns: name, attribute and type."""


def result_of(test: PlannedTest, outcome: Outcome) -> ResultOfTest:
    """A test with what came of it."""
    asked = outcome.groups[REQUESTS].values
    return ResultOfTest(
        arm=test.arm.label,
        number=test.who.number,
        seed=test.who.seed,
        tier=test.who.tier.name,
        modem=test.modem.name,
        drawn_ms=test.who.round_trip_ns / 1e6,
        idle_ms=asked.get("idle-round-trip", math.nan),
        mean_ms=asked.get("round-trip mean", math.nan),
        p99_ms=asked.get("round-trip p99", math.nan),
        max_ms=asked.get("round-trip max", math.nan),
        requests=asked.get("requests-made", math.nan),
        unanswered=asked.get("unanswered", math.nan),
        goodput_mbps=outcome.groups[UPLOADS].values.get("goodput", math.nan),
        key=outcome.key,
        digest=outcome.digest,
    )


def write(path: Path, tests: Iterable[ResultOfTest]) -> None:
    """Writes the table as Parquet, which pandas and R read as it is; what is absent is null.

    Raises:
        TestbedError: It cannot be written.
    """
    rows = [
        {column: _plain(getattr(test, attribute)) for column, attribute, _ in _COLUMNS}
        for test in tests
    ]
    schema = pa.schema([(column, kind) for column, _, kind in _COLUMNS])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    write_atomically(path, sink.getvalue())


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value
