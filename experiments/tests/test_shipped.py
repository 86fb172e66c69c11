# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 list` knows all that is shipped, and tells of broken files beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_experiments.experiment.shipped import Sort, entries, tier_line, topology_line
from docsis_testbed.paths import TOPOLOGIES


def test_everything_that_is_shipped_has_a_name_and_a_line() -> None:
    found = entries(TOPOLOGIES)
    assert not [entry for entry in found if entry.problem or not entry.line]
    names = {sort: [entry.name for entry in found if entry.sort is sort] for sort in Sort}
    assert names[Sort.QUEUE_MANAGERS] == list(Preset)
    for sort, folder in (
        (Sort.TIERS, TOPOLOGIES / "tiers"),
        (Sort.TOPOLOGIES, TOPOLOGIES),
        (Sort.EXPERIMENTS, TOPOLOGIES / "scenarios"),
        (Sort.SWEEPS, TOPOLOGIES / "sweeps"),
        (Sort.POPULATIONS, TOPOLOGIES / "populations"),
    ):
        assert names[sort] == sorted(file.stem for file in folder.glob("*.yaml"))


def test_one_sort_alone() -> None:
    assert {entry.sort for entry in entries(TOPOLOGIES, [Sort.TIERS])} == {Sort.TIERS}


def test_a_broken_file_is_told_and_hides_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "topologies"
    shutil.copytree(TOPOLOGIES, folder)
    (folder / "aaa.yaml").write_text("name: aaa\nhostz: []\n")
    (folder / "scenarios" / "zzz.yaml").write_text("- 1\n")
    broken = {entry.name: entry for entry in entries(folder) if entry.problem}
    assert set(broken) == {"aaa", "zzz"}
    assert f"{folder}/aaa.yaml:2: hostz: unknown key" in broken["aaa"].problem
    assert len(entries(folder)) == len(entries(TOPOLOGIES)) + 2


def test_a_file_without_a_description_has_the_facts() -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    bare = topology.model_copy(update={"description": ""})
    assert topology_line(bare) == "1 modem, 2 hosts, 2 servers, 20 ms and 100 ms."
    assert topology.tier is not None
    tier = topology.tier.model_copy(update={"description": ""})
    assert tier_line(tier) == "20 Mbps upstream, 100 Mbps downstream."


@pytest.mark.parametrize("sort", list(Sort))
def test_an_empty_folder_has_nothing_but_what_is_in_the_code(tmp_path: Path, sort: Sort) -> None:
    assert bool(entries(tmp_path, [sort])) is (sort is Sort.QUEUE_MANAGERS)
