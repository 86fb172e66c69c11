# SPDX-License-Identifier: Apache-2.0
"""An earlier results.json: read without trust, and compared with a new one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from docsis_experiments.reports import document as documents
from docsis_experiments.reproduction.catalogue.rule import FIRST
from docsis_experiments.reproduction.deciding import STAGES, Data, deciding, is_whole
from docsis_experiments.reproduction.document import EXPERIMENT, RAN, VERSION
from docsis_experiments.reproduction.judge.verdict import Extension, Standing
from docsis_experiments.runs.sources import StageName
from docsis_testbed.errors import TestbedError

MOST_BYTES: Final = 256 << 20

_MOST_PART_CHANGES: Final = 5
"""The most changes of parts that are told of a row; the rest is counted."""

_BEFORE_READINGS_OF_THEIR_OWN: Final = 1
"""The version whose rows alone say when, by which rule and how far extended they were judged."""


def read(path: Path) -> Data:
    """An earlier results.json.

    Raises:
        TestbedError: It cannot be read, is damaged, or of another version.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        if len(content) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        loaded = documents.untrusted(content)
        if not isinstance(loaded, dict):
            raise ValueError("it is no mapping")
        _check_texts(loaded)
        found: Data = loaded
        is_ours = found.get("experiment") == EXPERIMENT
        if is_ours and found.get("version") == _BEFORE_READINGS_OF_THEIR_OWN:
            found = _upgraded(found)
    except (ValueError, RecursionError) as error:
        raise TestbedError(f"{path}: is damaged ({str(error)[:200]})") from None
    if not is_ours:
        raise TestbedError(f"{path}: is no results.json of docsis-p4 reproduce")
    if found.get("version") != VERSION:
        raise TestbedError(
            f"{path}: is of version {str(found.get('version'))[:20]}, and this program reads "
            f"version {VERSION}"
        )
    validate(found, str(path))
    return found


def validate(content: Mapping[str, Any], name: str) -> None:
    """Refuses what is not in the documented shape, and dates that cannot be compared.

    Raises:
        TestbedError: Naming the place.
    """
    documents.check(content, EXPERIMENT, name)
    for place, date in _dates(content):
        if not _has_zone(date):
            raise TestbedError(
                f"{name}: {place}: {date[:40]!r} is no date and time of ISO 8601 with a time zone"
            )


def _check_texts(content: Data) -> None:
    """Refuses texts that no page could have.

    Raises:
        ValueError: One has half of a surrogate pair, which JSON can name and UTF-8 cannot.
    """
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a text has half of a surrogate pair, which is no character") from None


def _dates(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All dates with a time in a document of the right shape, each with its place."""
    made = [("made", content["made"])]
    if content["since"] is not None:
        made.append(("since.made", content["since"]["made"]))
    made += [(f"figures.{n}.made", one["made"]) for n, one in enumerate(content["figures"])]
    for number, row in enumerate(content["rows"]):
        place = f"rows.{number}"
        made.append((f"{place}.made", row["made"]))
        made += [
            (f"{place}.readings.{n}.made", one["made"]) for n, one in enumerate(row["readings"])
        ]
        for n, outcome in enumerate(row["history"]):
            yield f"{place}.history.{n}.date", outcome["date"]
    for place, one in made:
        if one is not None:
            yield f"{place}.date", one["date"]


def _has_zone(date: str) -> bool:
    try:
        return datetime.fromisoformat(date).utcoffset() is not None
    except ValueError:
        return False


def _upgraded(content: Data) -> Data:
    """Results of version 1 as those of today.

    Raises:
        ValueError: They have not the shape of version 1.
    """
    try:
        return {
            **content,
            "version": VERSION,
            "rows": [_upgraded_row(row) for row in content["rows"]],
            "figures": [
                {**figure, "drawn_of": figure["rows"], "lacks": [], "level": None, "made": None}
                for figure in content["figures"]
            ],
        }
    except KeyError as error:
        raise ValueError(f"{error} is not there") from None
    except (TypeError, ValueError):
        raise ValueError("it has not the shape of version 1") from None


def _upgraded_row(row: Data) -> Data:
    found = deciding(row["readings"])

    def upgraded(reading: Data) -> Data:
        decisive = found is not None and reading["stage"] == found["stage"]
        first = decisive and reading["reading"] == FIRST
        return {
            **reading,
            "hash": row["hash"],
            "extension": row["extension"] if first else Extension.NOT_DUE.value,
            # All readings of a row on a stage came from one sitting, and the row tells only of the
            # stage that decides.
            "made": row["made"] if decisive else None,
        }

    readings = [upgraded(reading) for reading in row["readings"]]
    return {**row, "current_hash": row["hash"], "readings": readings}


def since(before: Mapping[str, Any], rows: list[Data], name: str) -> Data:
    """Lists the changes, for results.json: of rules, and of first readings on the same stage.

    Args:
        before: The earlier results.
        rows: The rows now.
        name: The earlier file's name.
    """
    earlier = {row["id"]: row for row in before["rows"]}
    changes = [
        change
        for row in rows
        if row["id"] in earlier
        for change in _changes(earlier[row["id"]], row)
    ]
    return {"name": name, "made": before["made"], "changes": changes}


def _changes(before: Data, after: Data) -> Iterator[Data]:
    name = after["id"]
    if before["hash"] != after["hash"]:
        yield _change(name, "the rule", before["hash"], after["hash"])
    if after["state"] == RAN:
        return  # nothing was judged
    old, new = _state(before), _state(after)
    # An outcome in Mininet is not compared with one in virtual time.
    decide = [deciding(row["readings"]) for row in (before, after)]
    same_stage = len({one["stage"] for one in decide if one is not None}) < 2
    if old != new and same_stage:
        yield _change(name, "the outcome", old, new)
    for stage in STAGES:
        yield from _changed_parts(name, _verdicts(before, stage), _verdicts(after, stage))


def _changed_parts(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Data]:
    changed = [part for part in new if part in old and old[part] != new[part]]
    for part in changed[:_MOST_PART_CHANGES]:
        yield _change(name, part, old[part], new[part])
    if (more := len(changed) - _MOST_PART_CHANGES) > 0:
        yield _change(name, f"{more} more parts", "", "")


def _change(name: str, what: str, before: str, after: str) -> Data:
    return {"id": name, "what": what, "before": before, "after": after}


def _state(row: Data) -> str:
    provisional = row["standing"] == Standing.PROVISIONAL.value
    return f"{row['state']}, provisional" if provisional else str(row["state"])


def _verdicts(row: Data, stage: StageName) -> dict[str, str]:
    where = "" if stage == "virtual" else ", in Mininet"
    return {
        f"{part['name']}{where}": part["verdict"]
        for reading in row["readings"]
        if reading["reading"] == FIRST and reading["stage"] == stage and is_whole(reading)
        for part in reading["parts"]
        if part["verdict"] is not None
    }
