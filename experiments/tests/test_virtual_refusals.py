# SPDX-License-Identifier: Apache-2.0
"""Virtual time refuses what it does not have by name, in one sentence, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import docsis_p4

from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.stages.virtual import building
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.versions import commit
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

SCENARIO = str(TOPOLOGIES / "scenarios" / "bursts.yaml")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("demo", "--virtual", "--target", "bmv2"), "--target bmv2 has no place beside --virtual"),
        (("run", SCENARIO, "--virtual", "--target", "bmv2"), "--target bmv2 has no place beside"),
        (("demo", "--virtual", "--metrics-port", "9090"), "--metrics-port has no place beside"),
        (("demo", "--virtual", "--seed", "-1"), "--seed -1: a seed is a number from 0 to 2^64-1"),
        (("run", SCENARIO, "--virtual", "--seed", str(2**64)), f"--seed {2**64}: a seed is a"),
        (("demo", "--seed", "1"), "--seed has no place here: only --virtual time has one"),
        (("run", SCENARIO, "--seed", "1"), "--seed has no place here: only --virtual time has one"),
        (("run", "--virtual"), "--virtual has no place here: Mininet's command line waits"),
    ],
)
def test_it_is_refused_in_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    done = docsis_p4(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"docsis-p4: {sentence}")
    assert len(done.stderr.splitlines()) == 1


def test_a_topology_beyond_the_limits_is_named() -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    host = topology.modems[0].hosts[0]
    twice = Topology.model_construct(
        **{
            **dict(topology),
            "modems": (
                topology.modems[0].model_copy(update={"hosts": (host, host)}),
                *topology.modems[1:],
            ),
        }
    )
    with pytest.raises(TestbedError, match="topology residential is beyond what a virtual world"):
        building.build(twice, 1, EXACT)


@pytest.mark.parametrize("packed", [True, False])
def test_the_commit_is_read_from_gits_files(packed: bool, tmp_path: Path) -> None:
    digest = "0123456789abcdef0123456789abcdef01234567"
    git = tmp_path / "first" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    if packed:
        (git / "packed-refs").write_text(f"# pack-refs\n{digest} refs/heads/main\n")
    else:
        (git / "refs" / "heads" / "main").write_text(f"{digest}\n")
    assert commit(tmp_path / "first") == digest[:10]
    # Another work tree of the same repository.
    other = git / "worktrees" / "second"
    other.mkdir(parents=True)
    (other / "HEAD").write_text("ref: refs/heads/main\n")
    (other / "commondir").write_text("../..\n")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / ".git").write_text(f"gitdir: {other}\n")
    assert commit(tmp_path / "second") == digest[:10]
    (other / "HEAD").write_text(f"{digest[::-1]}\n")
    assert commit(tmp_path / "second") == digest[::-1][:10]
    assert commit(tmp_path) == "unknown"
