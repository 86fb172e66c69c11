# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 list` as a user meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import docsis_p4

from docsis_cli.options import named_or_file
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES


def test_a_line_each() -> None:
    result = docsis_p4("list")
    assert result.returncode == 0
    for line in (
        "Queue managers",
        "  docsis-pie               DOCSIS-PIE",
        "  cable-20                 20 Mbps upstream, 100 Mbps downstream.",
        "  neighbourhood            "
        "64 homes on one channel, four service flows each in both directions.",
    ):
        assert line in result.stdout.splitlines()


def test_one_kind_as_json() -> None:
    result = docsis_p4("list", "tiers", "--json")
    listed = json.loads(result.stdout)
    assert list(listed) == ["tiers"]
    assert [tier["name"] for tier in listed["tiers"]] == ["cable-20", "cable-2018"]
    assert set(listed["tiers"][0]) == {"name", "line", "file"}


def test_a_broken_file_is_told_after_all_others(tmp_path: Path) -> None:
    folder = tmp_path / "topologies"
    shutil.copytree(TOPOLOGIES, folder)
    (folder / "mine.yaml").write_text("name: mine\n")
    result = docsis_p4("list", "topologies", "--folder", str(folder))
    assert result.returncode == 1
    assert "residential" in result.stdout
    assert f"{folder}/mine.yaml" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_what_cannot_be_listed() -> None:
    for arguments, sentence in (
        (("managers",), 'there is no kind "managers" to list; there are queue-managers'),
        (("--folder", "/nonexistent"), "/nonexistent: there is no such folder"),
    ):
        result = docsis_p4("list", *arguments)
        assert result.returncode == 1
        assert sentence in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_what_is_listed_can_be_named(tmp_path: Path) -> None:
    listed = json.loads(docsis_p4("list", "experiments", "--json").stdout)["experiments"]
    for entry in listed:
        assert named_or_file(Path(entry["name"]), "scenarios") == Path(entry["file"])
    [sweep] = json.loads(docsis_p4("list", "sweeps", "--json").stdout)["sweeps"]
    assert named_or_file(Path(sweep["name"]), "sweeps") == Path(sweep["file"])
    mine = tmp_path / "voip-latency"
    assert named_or_file(mine, "scenarios") == mine
    assert named_or_file(Path("no-such.yaml"), "scenarios") == Path("no-such.yaml")
    with pytest.raises(TestbedError, match=r"voip-latenci: .* did you mean voip-latency\?"):
        named_or_file(Path("voip-latenci"), "scenarios")
    with pytest.raises(TestbedError, match="qqq: there is no such file.*docsis-p4 list shows"):
        named_or_file(Path("qqq"), "sweeps")
