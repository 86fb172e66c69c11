# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sweep` as a user meets it: one sentence for what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import docsis_p4

from docsis_testbed.paths import TOPOLOGIES

UPLOADS = str(TOPOLOGIES / "sweeps" / "uploads.yaml")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("/nonexistent/x.yaml",), "/nonexistent/x.yaml: there is no such file"),
        ((UPLOADS, "--jobs", "0"), "--jobs 0: must be a number from 1 to 256"),
        ((UPLOADS, "--tls-ca", "x"), "--tls-ca has no place here: only --scheduler needs it"),
        ((UPLOADS, "--scheduler", "tls://h:1", "--jobs", "2"), "--jobs has no place beside"),
        ((UPLOADS, "--scheduler", "tcp://h:1"), "tcp://h:1: only tls://HOST:PORT is taken"),
        ((UPLOADS, "--scheduler", "tls://h:1"), "--tls-ca and --tls-cert and --tls-key must be"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], sentence: str) -> None:
    result = docsis_p4("sweep", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_more_runs_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "uploads.yaml"
    text = Path(UPLOADS).read_text().replace("../scenarios", str(TOPOLOGIES / "scenarios"))
    path.write_text(text + "limit: 59\n")
    result = docsis_p4("sweep", str(path))
    assert result.returncode == 1
    assert f"{path}:" in result.stderr
    assert "limit: the sweep has 60 runs, and its limit is 59" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
