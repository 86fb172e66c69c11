# SPDX-License-Identifier: Apache-2.0
"""An earlier results.json: read without trust, compared, and put together with a new one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema

from docsis_experiments.reports import document as documents
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.document import EXPERIMENT, VERSION, counts
from docsis_experiments.reproduction.figure import place
from docsis_experiments.reproduction.judge.verdict import Standing, Verdict
from docsis_testbed.errors import TestbedError

MOST_BYTES: Final = 256 << 20

_MOST_PART_CHANGES: Final = 5
"""The most changes of parts that are told of a row; the rest is counted."""

Data = dict[str, Any]
"""results.json, or a part of it."""


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
        found = json.loads(content)
        if not isinstance(found, dict):
            raise ValueError("it is no mapping")
    except (ValueError, RecursionError) as error:
        raise TestbedError(f"{path}: is damaged ({str(error)[:200]})") from None
    if found.get("experiment") != EXPERIMENT:
        raise TestbedError(f"{path}: is no results.json of docsis-p4 reproduce")
    if found.get("version") != VERSION:
        raise TestbedError(
            f"{path}: is of version {found.get('version')}, and this program reads version "
            f"{VERSION}"
        )
    validate(found, str(path))
    return found


def validate(content: Mapping[str, Any], name: str) -> None:
    """Refuses what is not in the documented shape.

    Raises:
        TestbedError: Naming the place.
    """
    try:
        jsonschema.validate(content, documents.schema(EXPERIMENT))
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top"
        raise TestbedError(f"{name}: {place}: {error.message[:300]}") from None


def since(before: Mapping[str, Any], rows: list[Data], name: str) -> Data:
    """Lists the changes, for results.json.

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
    if _state(before) != _state(after):
        yield _change(name, "the outcome", _state(before), _state(after))
    old, new = _verdicts(before), _verdicts(after)
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


def _verdicts(row: Data) -> dict[str, str]:
    return {
        part["name"]: part["verdict"]
        for reading in row["readings"]
        if reading["reading"] == 1 and reading["stage"] == "virtual"
        for part in reading["parts"]
        if part["verdict"] is not None
    }


def together(before: Mapping[str, Any], after: Data, name: str) -> Data:
    """The last outcome of every row, of two sittings.

    A row that was run now takes the place of the earlier one, unless that has a verdict and this a
    provisional one. What was run in Mininet stands beside what was run in virtual time. Outcomes
    that there ever were stay, whichever row stands (catalogue, section 1).

    Args:
        before: The earlier results.
        after: The new ones.
        name: The earlier file's name.
    """
    rows = {row["id"]: row for row in before["rows"]}
    for row in after["rows"]:
        earlier = rows.get(row["id"])
        if earlier is None:
            rows[row["id"]] = row
        else:
            stands = _newer(earlier, row, after["stage"])
            rows[row["id"]] = {**stands, "history": _both(earlier["history"], row["history"])}
    order = {name: number for number, name in enumerate(registered_rules())}
    # Rows that the catalogue does not have any more stand last.
    merged = sorted(rows.values(), key=lambda row: (order.get(row["id"], len(order)), row["id"]))
    # Virtual time decides. A sitting in Mininet adds its readings to a page of virtual time, and
    # changes neither the page's level nor its figures.
    adds = after["stage"] == "mininet" != before["stage"]
    beside, decides = (after, before) if adds else (before, after)
    figures = {figure["id"]: figure for one in (beside, decides) for figure in one["figures"]}
    return {
        **after,
        "level": decides["level"],
        "stage": decides["stage"],
        "rows": merged,
        "counts": counts(merged),
        "figures": [figures[key] for key in sorted(figures, key=place)],
        "since": since(before, merged, name),
    }


def _both(before: list[Data], after: list[Data]) -> list[Data]:
    """All outcomes of two histories, oldest first; either may have been kept elsewhere."""
    found = {json.dumps(one, sort_keys=True): one for one in (*before, *after)}
    return sorted(found.values(), key=lambda one: str(one["date"]))


def _newer(before: Data, after: Data, stage: str) -> Data:
    """The row of two that stands."""
    if stage == "mininet":
        others = [reading for reading in before["readings"] if reading["stage"] != "mininet"]
        if not after["readings"]:
            return before
        if not others:
            return after
        return {**before, "readings": [*others, *after["readings"]]}
    not_run = after["state"] == Verdict.NOT_RUN.value and before["state"] != Verdict.NOT_RUN.value
    lesser = (
        before["standing"] == Standing.VERDICT.value != after["standing"]
        and before["hash"] == after["hash"]
    )
    if not_run or lesser:
        return before
    beside = [reading for reading in before["readings"] if reading["stage"] == "mininet"]
    return {**after, "readings": [*after["readings"], *beside]}
