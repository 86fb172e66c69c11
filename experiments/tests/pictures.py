# SPDX-License-Identifier: Apache-2.0
"""Reports without pictures, for tests that look at none: drawing is nine tenths of a report."""

from __future__ import annotations

import pytest

from docsis_experiments.reports.plots import registry
from docsis_experiments.reproduction.page import values
from docsis_experiments.reproduction.story import telling


def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test, or the context, ends; what is drawn is a matter of other tests."""
    monkeypatch.setattr(registry, "write", lambda *arguments: None)


def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the pages of `docsis-p4 reproduce`, and for the story."""
    for place in (values, telling):
        monkeypatch.setattr(place, "picture", lambda figure: b"")
