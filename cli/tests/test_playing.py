# SPDX-License-Identifier: Apache-2.0
"""The options that say where runs in virtual time are played."""

from __future__ import annotations

import os

import pytest

from docsis_cli.playing import Where
from docsis_testbed.errors import TestbedError


def where(jobs: int | None) -> Where:
    return Where(jobs, scheduler=None, ca=None, certificate=None, key=None)


@pytest.mark.parametrize(
    ("usable", "processes"), [({3}, 1), ({0, 5, 6}, 3), (set(range(300)), 256)]
)
def test_there_is_a_process_for_each_processor_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch, usable: set[int], processes: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: usable)
    assert where(None).processes() == processes


def test_a_given_number_is_taken_or_refused() -> None:
    assert where(7).processes() == 7
    with pytest.raises(TestbedError, match="--jobs 257: must be a number from 1 to 256"):
        where(257).processes()
