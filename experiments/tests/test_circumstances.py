# SPDX-License-Identifier: Apache-2.0
"""When and where a run was, as details.json has it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from docsis_experiments.reports.folder import circumstances
from docsis_experiments.reports.words import begun


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone with a name and an offset of its own in summer, written out: no data base is asked."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(("month", "offset", "zone"), [(1, "+01:00", "CET"), (7, "+02:00", "CEST")])
def test_the_start_has_its_offset_and_its_zone(month: int, offset: str, zone: str) -> None:
    found = circumstances(datetime(2026, month, 2, 12, 0, 0))
    assert found["started"] == f"2026-0{month}-02 12:00:00{offset}"
    assert found["time_zone"] == zone
    # People read the zone by its name.
    assert begun(found) == f"2026-0{month}-02 12:00:00 {zone}"


def test_a_folder_of_before_there_were_zones_is_told_without_one() -> None:
    assert begun({"started": "2026-11-22 12:00:00"}) == "2026-11-22 12:00:00"
