# SPDX-License-Identifier: Apache-2.0
"""Outcomes as Parquet: a row each, validated when they are read.

A file says which version it has and what the SHA-256 of its content is. One that is damaged, too
large, of another version or otherwise not as it should be is told in one sentence, and nothing of
it is used. Columns are documented in docs/scenarios.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import math
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docsis_experiments.measurement.links import Way, Ways
from docsis_experiments.measurement.reading import Reading
from docsis_experiments.measurement.service_flow_shares import Rates
from docsis_experiments.runs.outcome import (
    MOST_FAULTS,
    MOST_WORDS,
    PROBABILITIES,
    Group,
    Outcome,
)
from docsis_testbed.errors import TestbedError

VERSION: Final = 3
"""Version of the file's shape and of the meaning of its columns."""

_WITHOUT_LINKS: Final = 2
"""An earlier version that is read as well; the only difference is that it has no `links`."""

MOST_BYTES: Final = 1 << 30
"""The largest file, and the largest content of one."""

OUTCOMES: Final = "outcomes.parquet"
"""Name of the file in a folder of results."""

MOST_OUTCOMES: Final = 1_000_000

_MOST_ENTRIES: Final = 2000
"""The most groups, values, quantities and counters of an outcome."""

_MOST_ENTRIES_TOGETHER: Final = 50_000_000
"""The most list entries that a file may have in one column, such as all quantiles of all groups.
The largest sweep has some twenty million."""

_ROWS_AT_ONCE: Final = 64
"""How many rows are Python objects of Arrow's at the same time."""

ABANDONED_SECONDS: Final = 86_400.0
"""Age at which a file that was begun is taken for one whose writer was killed."""

_BEGUN: Final = re.compile(r"\..+\.[0-9a-f]{16}")
"""Names of files that `write_atomically` has begun."""

_VERSION_KEY: Final = b"docsis-p4 outcomes"
_DIGEST_KEY: Final = b"sha256"

_VALUE = pa.struct([pa.field("name", pa.string(), False), pa.field("value", pa.float64(), False)])
_RATES: Final = ("configured", "received", "forwarded")
_SERVICE_FLOW = pa.struct(
    [
        pa.field("name", pa.string(), False),
        *(pa.field(f"{name}_mbps", pa.float64(), False) for name in _RATES),
    ]
)
_GROUP = pa.struct(
    [
        pa.field("name", pa.string(), False),
        pa.field("values", pa.list_(_VALUE), False),
        pa.field("latency_ms", pa.list_(pa.float64()), False),
        pa.field("service_flows", pa.list_(_SERVICE_FLOW), False),
    ]
)
_QUANTITY = pa.struct(
    [
        pa.field("quantity", pa.string(), False),
        pa.field("value", pa.float64(), False),
        pa.field("absent", pa.string(), False),
    ]
)
_WAYS: Final = ("from_host", "to_host")
_WAY = pa.struct([pa.field(name, pa.int64(), False) for name in ("frames", "lost")])
_LINK = pa.struct(
    [pa.field("host", pa.string(), False), *(pa.field(way, _WAY, False) for way in _WAYS)]
)
_COUNTER = pa.struct([pa.field("name", pa.string(), False), pa.field("count", pa.int64(), False)])

_COLUMNS: Final[Sequence[tuple[str, pa.DataType]]] = (
    ("key", pa.string()),
    ("run", pa.string()),
    ("number", pa.uint64()),
    ("manager", pa.string()),
    ("management", pa.string()),
    ("buffer_ms", pa.float64()),
    ("seconds", pa.float64()),
    ("groups", pa.list_(_GROUP)),
    ("quantities", pa.list_(_QUANTITY)),
    ("counters", pa.list_(_COUNTER)),
    ("updates", pa.int64()),
    ("missed", pa.int64()),
    ("lateness_ms", pa.float64()),
    ("valid", pa.bool_()),
    ("withheld", pa.string()),
    ("faults", pa.list_(pa.string())),
    ("digest", pa.string()),
    ("links", pa.list_(_LINK)),
)
SCHEMA: Final = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS])

_SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    str(VERSION): SCHEMA,
    str(_WITHOUT_LINKS): SCHEMA.remove(SCHEMA.get_field_index("links")),
}
"""By the version that a file names."""


class Damaged(TestbedError):
    """A file of outcomes is not as it should be, so nothing of it is used."""


class Missing(TestbedError):
    """There is no such file of outcomes, or not any more."""


def encode(outcomes: Sequence[Outcome]) -> bytes:
    """Outcomes as the content of a file, in their order."""
    return encode_rows([row(outcome) for outcome in outcomes])


def encode_rows(rows: Sequence[dict[str, Any]]) -> bytes:
    """Rows as the content of a file that is not damaged, whatever they say.

    Raises:
        pa.ArrowException: They do not have the columns of a file.
    """
    marks = {_VERSION_KEY: str(VERSION).encode(), _DIGEST_KEY: _digest(rows)}
    table = pa.Table.from_pylist(rows, schema=SCHEMA.with_metadata(marks))
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def decode(content: bytes, name: str) -> list[Outcome]:
    """The outcomes of a file's content.

    Args:
        content: Content of the file.
        name: What it is called, for errors.

    Raises:
        Damaged: It is not as it should be, or of another version.
    """
    try:
        return _decode(content)
    except _Refused as error:
        raise Damaged(f"{name}: {error}") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise Damaged(f"{name}: is damaged or no file of outcomes ({words})") from None


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Writes a file at once or not at all.

    Raises:
        TestbedError: It cannot be written.
    """
    write_atomically(path, encode(outcomes))


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file at once or not at all, whoever is killed meanwhile.

    Raises:
        TestbedError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not `mkstemp`, whose files only their owner may read: results are for whom the umask says.
        begun = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with begun.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            begun.replace(path)
        except BaseException:
            begun.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TestbedError(f"{path}: cannot be written ({error.strerror})") from None


def remove_abandoned(folder: Path) -> None:
    """Removes what writers that were killed have left in a folder, once it is a day old.

    What cannot be removed stays there, and is in nobody's way.

    Args:
        folder: Has files that `write_atomically` writes; folders within it are not looked at.
    """
    oldest = time.time() - ABANDONED_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _BEGUN.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        Path(entry.path).unlink()


def read(path: Path) -> list[Outcome]:
    """The outcomes of a file.

    Raises:
        Damaged: It is not as it should be, or of another version.
        Missing: There is none.
        TestbedError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise Missing(f"{path}: cannot be read ({error.strerror})") from None
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    return decode(content, str(path))


class _Refused(Exception):
    """Raised for a file that is wrong, with the end of a sentence."""


def _decode(content: bytes) -> list[Outcome]:
    if len(content) > MOST_BYTES:
        raise _Refused(f"is larger than {MOST_BYTES} bytes")
    metadata = pq.read_metadata(pa.BufferReader(content))
    marks = metadata.metadata or {}
    if _VERSION_KEY not in marks:
        raise _Refused("is no file of outcomes")
    version = marks[_VERSION_KEY].decode("ascii", "replace")[:20]
    if version not in _SCHEMAS:
        raise _Refused(
            f"is of version {version}, and this program reads versions {_WITHOUT_LINKS} and "
            f"{VERSION}; make it again"
        )
    schema = _SCHEMAS[version]
    if not metadata.schema.to_arrow_schema().equals(schema):
        raise _Refused("does not have the columns of its version")
    size = sum(
        metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)
    )
    if metadata.num_rows > MOST_OUTCOMES or size > MOST_BYTES:
        raise _Refused("has more content than outcomes can have")
    # Entries of lists that are equal take no bytes: a file of a few KB can have a billion of them.
    if _entries(metadata) > _MOST_ENTRIES_TOGETHER:
        raise _Refused(f"has more than {_MOST_ENTRIES_TOGETHER} entries")
    source = pq.ParquetFile(
        pa.BufferReader(content),
        metadata=metadata,
        # Until texts have been counted, equal ones take the room of one.
        read_dictionary=[path for field in schema for path in _texts_in(field.type, field.name)],
        page_checksum_verification=True,
    )
    digest = _Digest()
    outcomes = [_outcome(row) for row in digest.of(_rows(source))]
    if marks.get(_DIGEST_KEY) != digest.hex:
        raise _Refused("is damaged: its content is not what was written")
    return outcomes


def _texts_in(kind: pa.DataType, path: str) -> Iterator[str]:
    """The columns of Parquet that have the texts of a column."""
    if pa.types.is_list(kind):
        yield from _texts_in(kind.value_type, f"{path}.list.element")
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _texts_in(field.type, f"{path}.{field.name}")
    elif pa.types.is_string(kind):
        yield path


def _rows(source: pq.ParquetFile) -> Iterator[dict[str, Any]]:
    """The rows, after a look at how much a part of them is before it becomes Python's objects.

    Raises:
        _Refused: A list is longer than any of an outcome, or all texts are longer than a file.
    """
    length = 0
    # Arrow gets no threads and no Python object here. A thread of Arrow's that releases a Python
    # object while the interpreter ends aborts the process.
    for batch in source.iter_batches(_ROWS_AT_ONCE, use_threads=False):
        for column in batch.columns:
            _check_lists(column)
            length += _length(column)
        if length > MOST_BYTES:
            raise _Refused("has more text than outcomes can have")
        yield from batch.to_pylist()


def _check_lists(array: pa.Array) -> None:
    if pa.types.is_list(array.type):
        longest = pc.max(pc.list_value_length(array)).as_py() or 0
        if longest > _MOST_ENTRIES:
            raise _Refused(f"has an outcome with a list of {longest} entries")
        _check_lists(array.flatten())
    elif pa.types.is_struct(array.type):
        for part in array.flatten():
            _check_lists(part)


def _length(array: pa.Array) -> int:
    """Bytes of all texts of a column, each as often as it is used."""
    if pa.types.is_list(array.type):
        return _length(array.flatten())
    if pa.types.is_struct(array.type):
        return sum(_length(part) for part in array.flatten())
    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return int(pc.sum(lengths.take(array.indices)).as_py() or 0)
    return 0


def _entries(metadata: pq.FileMetaData) -> int:
    """The number of entries of all lists, over all rows, of the column that has most of them."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return max(
        (
            sum(group.column(place).num_values for group in groups)
            for place in range(metadata.num_columns)
        ),
        default=0,
    )


def _digest(rows: Iterable[dict[str, Any]]) -> bytes:
    digest = _Digest()
    for _ in digest.of(rows):
        pass
    return digest.hex


class _Digest:
    """SHA-256 of the JSON of rows, which are not all there at once."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256(b"[")

    def of(self, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yields rows unchanged, and adds each of them to the digest."""
        for number, one in enumerate(rows):
            # NaN and infinity are values here, and Python's JSON has words for them.
            text = json.dumps(one, sort_keys=True, separators=(",", ":"))
            self._sha256.update(f"{',' if number else ''}{text}".encode())
            yield one

    @property
    def hex(self) -> bytes:
        """The digest in hexadecimal, after the last row."""
        whole = self._sha256.copy()
        whole.update(b"]")
        return whole.hexdigest().encode()


def row(outcome: Outcome) -> dict[str, Any]:
    """The row of an outcome."""
    return {
        "key": outcome.key,
        "run": outcome.run,
        "number": outcome.number,
        "manager": outcome.manager,
        "management": outcome.management,
        "buffer_ms": float(outcome.buffer_ms),
        "seconds": float(outcome.seconds),
        "groups": [
            {
                "name": name,
                "values": _named(group.values),
                "latency_ms": [float(value) for value in group.latency],
                "service_flows": [
                    {"name": flow} | {f"{key}_mbps": float(getattr(rates, key)) for key in _RATES}
                    for flow, rates in group.service_flows.items()
                ],
            }
            for name, group in outcome.groups.items()
        ],
        "quantities": [
            {"quantity": key, "value": float(one.value), "absent": one.absent}
            for key, one in outcome.quantities.items()
        ],
        "counters": [{"name": name, "count": n} for name, n in outcome.counters.items()],
        "updates": outcome.updates,
        "missed": outcome.missed,
        "lateness_ms": float(outcome.lateness_ms),
        "valid": outcome.valid,
        "withheld": outcome.withheld,
        "faults": list(outcome.faults),
        "digest": outcome.digest,
        "links": [
            {"host": host} | {way: dataclasses.asdict(getattr(ways, way)) for way in _WAYS}
            for host, ways in outcome.links.items()
        ],
    }


def _named(values: Any) -> list[dict[str, Any]]:
    return [{"name": name, "value": float(value)} for name, value in values.items()]


def _outcome(row: dict[str, Any]) -> Outcome:
    row = {"links": [], **row}
    for name in ("groups", "quantities", "counters", "links"):
        if len(row[name]) > _MOST_ENTRIES:
            raise _Refused(f"has an outcome with more than {_MOST_ENTRIES} {name}")
    words = (row["withheld"], *row["faults"], *(one["absent"] for one in row["quantities"]))
    if len(row["faults"]) > MOST_FAULTS or any(len(word) > MOST_WORDS for word in words):
        raise _Refused("has an outcome with longer words than it may have")
    if not re.fullmatch("[0-9a-f]{64}", row["key"]):
        raise _Refused("has an outcome whose key is none")
    if not re.fullmatch("[0-9a-f]*", row["digest"]) or len(row["digest"]) > 64:
        raise _Refused("has an outcome whose digest is none")
    json.loads(row["management"])
    for name in ("buffer_ms", "seconds"):
        if not (math.isfinite(row[name]) and row[name] >= 0):
            raise _Refused(f"has an outcome whose {name} is {row[name]}")
    return Outcome(
        **{
            **row,
            "groups": _by_name(row["groups"], "name", _group),
            "quantities": _by_name(
                row["quantities"], "quantity", lambda one: Reading(one["value"], one["absent"])
            ),
            "counters": _by_name(row["counters"], "name", lambda one: int(one["count"])),
            "faults": tuple(row["faults"]),
            "links": _by_name(row["links"], "host", _ways),
        }
    )


def _group(entry: dict[str, Any]) -> Group:
    if len(entry["values"]) > _MOST_ENTRIES:
        raise _Refused(f"has a group with more than {_MOST_ENTRIES} values")
    table = tuple(entry["latency_ms"])
    if table and (
        len(table) != len(PROBABILITIES)
        or not all(math.isfinite(value) for value in table)
        or any(after < before for before, after in itertools.pairwise(table))
    ):
        raise _Refused("has a group whose quantiles of latency are none")
    if len(entry["service_flows"]) > _MOST_ENTRIES:
        raise _Refused(f"has a group with more than {_MOST_ENTRIES} service flows")
    rates = [flow[f"{key}_mbps"] for flow in entry["service_flows"] for key in _RATES]
    if not all(math.isfinite(rate) and rate >= 0 for rate in rates):
        raise _Refused("has a group whose rates of service flows are none")
    return Group(
        _by_name(entry["values"], "name", lambda one: float(one["value"])),
        table,
        _by_name(
            entry["service_flows"],
            "name",
            lambda one: Rates(**{key: one[f"{key}_mbps"] for key in _RATES}),
        ),
    )


def _ways(entry: dict[str, Any]) -> Ways:
    ways = [Way(**entry[way]) for way in _WAYS]
    if not all(0 <= way.lost <= way.frames for way in ways):
        raise _Refused("has a link that lost more frames than went into it, or less than none")
    return Ways(*ways)


def _by_name(entries: Sequence[dict[str, Any]], name: str, made: Any) -> dict[str, Any]:
    found = {entry[name]: made(entry) for entry in entries}
    if len(found) < len(entries):
        raise _Refused(f"has an entry twice in an outcome, the first of {len(entries)} {name}s")
    return found
