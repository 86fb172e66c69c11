# SPDX-License-Identifier: Apache-2.0
"""All runs of a sweep as one flat table: a row for each run and group of the traffic."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from docsis_experiments.measurement.metrics import metric_of
from docsis_experiments.runs.files import write_atomically
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.sweeps.axes import AXES
from docsis_experiments.sweeps.expand import Point


@dataclass(frozen=True)
class Cell:
    """A run of a sweep.

    Attributes:
        point: Where it is.
        seed: Seed of all that is random.
        outcome: What is kept of it.
    """

    point: Point
    seed: int
    outcome: Outcome


def column(value: str) -> str:
    """The column of one of a group's values: "latency p50" is latency_p50_ms."""
    metric = metric_of(value)
    return re.sub(r"[^a-z0-9]+", "_", value) + ("" if metric is None else metric.unit.suffix)


def rows(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """A row for each run and group; what a group does not have is absent."""
    return [
        {
            "manager": cell.point.manager,
            **{AXES[name].column: value for name, value in cell.point.numbers.items()},
            "seed": cell.seed,
            "group": name,
            **{column(key): value for key, value in group.values.items()},
            "digest": cell.outcome.digest,
            "key": cell.outcome.key,
        }
        for cell in cells
        for name, group in cell.outcome.groups.items()
    ]


def write(path: Path, cells: Sequence[Cell]) -> None:
    """Writes the table as Parquet, which pandas and R read as it is.

    Raises:
        TestbedError: It cannot be written.
    """
    made = rows(cells)
    # Every column that any group has, in the order in which they are first seen.
    names = list(dict.fromkeys(name for row in made for name in row))
    ends = ["digest", "key"]
    names = [name for name in names if name not in ends] + ends
    kinds = {"manager": pa.string(), "group": pa.string(), "seed": pa.uint64()}
    kinds |= dict.fromkeys(ends, pa.string())
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in names])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(made, schema=schema), sink, compression="zstd")
    write_atomically(path, sink.getvalue())
