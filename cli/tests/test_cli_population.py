# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 population` as a user meets it: one sentence for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import docsis_p4

from docsis_testbed.paths import TOPOLOGIES

QUICK = TOPOLOGIES / "populations" / "quick-look.yaml"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("/nonexistent/x.yaml",), "/nonexistent/x.yaml: there is no such file"),
        (("quick-look", "--jobs", "0"), "--jobs 0: must be a number from 1 to 256"),
        (("quick-look", "--virtual", "--stage", "mininet"), "--virtual has no place beside"),
        (("quick-look", "--stage", "mininet", "--jobs", "2"), "--jobs has no place in Mininet"),
        (("quick-look", "--scheduler", "tcp://h:1"), "tcp://h:1: only tls://HOST:PORT is taken"),
        (("quick-look", "--seed", str(2**63)), f"--seed {2**63}: must be a number from 0 to"),
        (("quick-look", "--output", "/usr"), "--output /usr: is there and not empty"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], sentence: str) -> None:
    result = docsis_p4("population", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_share_below_nothing(tmp_path: Path) -> None:
    path = tmp_path / "quick-look.yaml"
    path.write_text(QUICK.read_text().replace("share: 60", "share: -60"))
    (tmp_path / "tiers").symlink_to(QUICK.parent / "tiers")
    result = docsis_p4("population", str(path))
    assert result.returncode == 1
    line = path.read_text().splitlines().index("  - {tier: upload-10, share: -60}") + 1
    assert f"{path}:{line}: tiers.0.share: is -60; a share is 0 to" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_populations_are_listed_and_have_schemas() -> None:
    listed = json.loads(docsis_p4("list", "populations", "--json").stdout)["populations"]
    assert [one["name"] for one in listed] == ["field-study", "quick-look"]
    assert {"population", "population-summary"} <= json.loads(docsis_p4("schema").stdout).keys()
