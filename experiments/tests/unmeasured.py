# SPDX-License-Identifier: Apache-2.0
"""A machine that no test of `reproduce` measures: computations of tests cost nothing."""

from __future__ import annotations

import pytest

from docsis_experiments.reproduction.costs import calibration


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is calibrated."""
    leave_out_measuring(monkeypatch)


def leave_out_measuring(patched: pytest.MonkeyPatch) -> None:
    """The same for fixtures that live longer than a test."""
    patched.setattr(calibration, "costs", lambda folder, jobs: [])
