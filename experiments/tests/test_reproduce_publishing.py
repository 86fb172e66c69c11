# SPDX-License-Identifier: Apache-2.0
"""What a folder has before a sitting publishes into it, and what it has after a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_rows.made import toys
from toy_rows.pages import content, entry

from docsis_experiments.reproduction.row import Row
from docsis_experiments.reproduction.writing import publish
from docsis_testbed.errors import TestbedError


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


def test_a_page_of_somebody_else_is_left_as_it_is(rows: dict[str, Row], tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_bytes(b"<p>theirs</p>")
    with pytest.raises(TestbedError, match=r"index\.html: is there without .* move it away, or"):
        publish(content([entry(rows, "000-A1")]), tmp_path)
    assert page.read_bytes() == b"<p>theirs</p>"
    assert [one.name for one in tmp_path.iterdir()] == ["index.html"]
