# SPDX-License-Identifier: Apache-2.0
"""Reports without pictures, for tests that look at none: drawing is nine tenths of a report."""

from __future__ import annotations

import pytest

from docsis_experiments.reports.plots import registry


def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test, or the context, ends; what is drawn is a matter of other tests."""
    monkeypatch.setattr(registry, "write", lambda *arguments: None)
