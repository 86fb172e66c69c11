# SPDX-License-Identifier: Apache-2.0
"""`pip install .` and Python are enough for a conformance tester and for a reader of results.

What needs a switch, a virtual world or Mininet says so in a sentence, and how to get it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from documentation import ROOT
from outcome_files import quick
from rich.console import Console

from docsis_experiments.repetition import once
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import TestbedError

NOT_THERE: Final = ("docsis_world", "mininet", "docsis_p4", "_docsis_p4.pth", "libtorrent")
"""Starts of names in the clone's environment of what pip installs nothing of."""

PIP: Final = ("PIP_", "SSL_", "REQUESTS_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
"""Starts of variables that say how pip reaches its index."""


@dataclass(frozen=True)
class Installation:
    """A Python environment that has the wheel, and a folder to work in.

    Attributes:
        environment: The folder of the environment.
        folder: The user's.
    """

    environment: Path
    folder: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs docsis-p4 with hardly any environment variable."""
        return subprocess.run(
            [self.environment / "bin" / "docsis-p4", *words],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


def _ran(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> None:
    ended = subprocess.run(
        list(command), env=environment, capture_output=True, text=True, check=False, timeout=1200
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel with the clone's third-party packages: nothing is fetched."""
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "venv"
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-index")
    _ran((*pip, "wheel", *offline, "--no-build-isolation", "-w", folder / "wheels", ROOT))
    _ran((sys.executable, "-m", "venv", "--without-pip", environment))
    site = Path(
        sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)})
    )
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(NOT_THERE):
            (site / path.name).symlink_to(path)
    ptf = Path(sys.executable).with_name("ptf")
    (environment / "bin" / "ptf").symlink_to(ptf)
    python = environment / "bin" / "python"
    [wheel] = (folder / "wheels").glob("*.whl")
    _ran((*pip, "--python", python, "install", *offline, wheel))
    work = folder / "work"
    work.mkdir()
    return Installation(environment, work)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two folders of results, as a colleague with a clone would send them."""
    folder = tmp_path_factory.mktemp("results")
    loaded = quick(folder)
    found = []
    for seed in (1, 2):
        place = folder / str(seed)
        # One run is no verdict; its results are written.
        with suppress(TestbedError):
            once.run(loaded, stage=VirtualStage(seed), console=Console(quiet=True), results=place)
        [result] = place.iterdir()
        found.append(str(result))
    return found


def _printed(installed: Installation, *words: str) -> str:
    ended = installed.run(*words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_what_is_shipped_is_listed(installed: Installation) -> None:
    found = json.loads(_printed(installed, "list", "--json"))
    files = [
        Path(entry["file"]) for entries in found.values() for entry in entries if "file" in entry
    ]
    assert files
    assert all(file.is_relative_to(installed.environment) for file in files)
    assert "residential" in [entry["name"] for entry in found["topologies"]]


def test_schemas_are_printed(installed: Installation) -> None:
    assert json.loads(_printed(installed, "schema"))["topology"]["type"] == "object"


def test_tests_of_the_suite_are_listed(installed: Installation) -> None:
    lines = _printed(installed, "ptf", "--list", "CF-1").splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "classifier_fields.Values",
        "classifier_fields.MaskEdges",
    ]


def test_a_modems_file_is_converted(installed: Installation) -> None:
    file = ROOT / "control_plane" / "tests" / "data" / "modem.cfg"
    assert "upstream_service_flows" in _printed(installed, "config", "decode", str(file))


def test_results_are_compared_and_reported(installed: Installation, results: list[str]) -> None:
    assert "Report: results/" in _printed(installed, "compare", *results)
    page = Path(results[0]) / "report.html"
    page.unlink()
    _printed(installed, "report", results[0])
    assert page.stat().st_size > 10_000


def test_results_are_exported_without_flent(
    installed: Installation, results: list[str], tmp_path: Path
) -> None:
    printed = _printed(installed, "export", results[0], "--flent", "--output", str(tmp_path))
    files = [Path(line) for line in printed.splitlines()]
    assert files
    assert all(file.parent == tmp_path and file.is_file() for file in files)


def test_a_page_is_written_of_what_is_kept(installed: Installation) -> None:
    _printed(installed, "reproduce", "000-F1a", "--level", "study", "--kept")
    [page] = installed.folder.glob("results/*-reproduce/report.html")
    assert "000-F1a" in page.read_text()


def test_exercises_are_listed(installed: Installation) -> None:
    assert "Measure bufferbloat" in _printed(installed, "lab", "list")


CLONE: Final = "clone the project's repository and run `make setup"


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (["demo", "--virtual"], ("the virtual world is not built", f"{CLONE}-virtual` in the")),
        (["sweep", "uploads"], ("the virtual world is not built",)),
        (["reproduce", "001-F5a"], ("the virtual world is not built",)),
        (["demo"], ("Mininet cannot be imported", f"{CLONE}` in the clone as root")),
        (["run"], ("Mininet cannot be imported",)),
        (["figures"], ("there is no switch here: it is built with Rust", f"{CLONE}` in the clone")),
        (["ptf"], ("there is no switch here", "tested with --target HOST:PORT")),
        (["ptf", "--target", "192.0.2.7:9559"], ("the suite needs three ports",)),
        (["p4", "check"], ("clone the project's repository, and run it there",)),
        (["lab", "start", "1"], ("the exercises are in a clone of the project",)),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(
    installed: Installation, words: list[str], sentences: Sequence[str]
) -> None:
    ended = installed.run(*words)
    assert ended.returncode in (1, 2)
    assert all(sentence in ended.stderr for sentence in sentences), ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
    assert not list(installed.folder.glob("results/*.partial"))


# It fetches every package and installs them: minutes.
@pytest.mark.long
def test_pip_installs_it_with_all_that_it_needs(tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        **{name: value for name, value in os.environ.items() if name.startswith(PIP)},
    }
    venv = tmp_path / "venv"
    _ran((sys.executable, "-m", "venv", venv), environment)
    _ran((venv / "bin" / "pip", "install", "--quiet", ROOT), environment)
    installation = Installation(venv, tmp_path)
    test_tests_of_the_suite_are_listed(installation)
    test_what_is_shipped_is_listed(installation)
    test_a_page_is_written_of_what_is_kept(installation)
    assert (
        "the suite needs three ports"
        in installation.run("ptf", "--target", "192.0.2.7:9559").stderr
    )
