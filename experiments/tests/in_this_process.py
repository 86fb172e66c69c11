# SPDX-License-Identifier: Apache-2.0
"""Works that a test has done where it runs itself.

A process of its own would import for a second before it began. Such a test is about what makes and
judges works; `test_runs_pool.py` tests the processes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from docsis_experiments.runs import workers
from docsis_experiments.runs.workers import Ended, Job


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does workers' jobs here, one after the other; orders and answers are the same bytes."""
    monkeypatch.setattr(workers, "do_all", _do_all)


def _do_all(jobs: Iterable[Job[Any]], processes: int) -> Generator[Ended[Any], None, None]:
    workers.check_jobs(processes)
    with TemporaryDirectory() as scratch:
        for job in jobs:
            order = job.function.encode() + b"\n" + job.content
            yield workers._understood(job, workers._answered(order, Path(scratch)))
