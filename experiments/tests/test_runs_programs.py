# SPDX-License-Identifier: Apache-2.0
"""Kernel and what makes traffic are part of what made a run in Mininet."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

import pytest
from scenario_files import loaded

from docsis_experiments.runs import programs, sources
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.mininet.traffic import video
from docsis_experiments.stages.mininet.traffic.video import player
from docsis_testbed import versions
from docsis_testbed.errors import TestbedError

VIDEO = ("  - {name: game, kind: game}\n", "  - {name: tv, kind: adaptive-video}\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of programs, the only one on PATH but for the shell's; nothing is hashed yet."""
    monkeypatch.setattr(sources, "parts", functools.cache(sources.parts_now))
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    install(folder, "irtt", "echo version 1.0")
    return folder


def install(folder: Path, name: str, script: str) -> None:
    """Installs a program as a package does: another file with its name."""
    new = folder / f"{name}.new"
    # What it was asked goes into a file beside it.
    new.write_text(f'#!/bin/sh\necho "$@" >> "{folder / name}.asked"\n{script}\n')
    new.chmod(0o755)
    new.rename(folder / name)


def test_a_run_in_mininet_depends_on_kernel_and_programs_and_one_in_virtual_time_does_not(
    installed: Path,
) -> None:
    assert (
        sources.parts_now("mininet").items()
        >= {
            "kernel": os.uname().release,
            "irtt": "1.0",
            "libtorrent": versions.package("libtorrent"),
            "tornado": versions.package("tornado"),
        }.items()
    )
    assert sources.parts_now("virtual").keys() == {
        "code",
        "pipeline",
        "world",
        "libc",
        "python",
        "numpy",
    }


def test_a_program_is_asked_once_in_its_own_words(installed: Path) -> None:
    for _ in range(3):
        programs.of_every_run()
    assert (installed / "irtt.asked").read_text() == "version\n"


def test_a_program_that_tells_nothing_is_absent(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_SECONDS", 0.2)
    for script in ("exec sleep 60", "exit 1"):
        install(installed, "irtt", script)
        assert programs.of_every_run()["irtt"] == programs.ABSENT
    monkeypatch.setenv("PATH", str(installed.parent))
    assert programs.version("irtt") == programs.ABSENT


def test_a_run_in_mininet_depends_on_the_packages_that_send(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"libtorrent": "2.1.1", "tornado": "6.6"}
    monkeypatch.setattr(versions, "package", lambda name: told.get(name, versions.UNKNOWN))
    before = sources.digest({}, "mininet")
    told["tornado"] = "6.7"
    sources.parts.cache_clear()
    assert sources.digest({}, "mininet") != before
    del told["libtorrent"]
    found = programs.of_every_run()
    assert (found["libtorrent"], found["tornado"]) == (programs.ABSENT, "6.7")


def test_a_program_that_is_installed_anew_while_runs_go_on_is_told(installed: Path) -> None:
    with sources.unchanged("mininet"):
        pass
    with pytest.raises(TestbedError, match="a program that makes traffic"):  # noqa: SIM117 - it is told at its end
        with sources.unchanged("mininet"):
            install(installed, "irtt", "echo version 1.1")


def test_a_run_with_videos_depends_on_the_browser(installed: Path, tmp_path: Path) -> None:
    """Others do not, so that they neither wait for it nor are made again with it."""
    found, with_video = loaded(tmp_path), loaded(tmp_path, VIDEO)
    other = Unit.of(found, found.scenario.all_runs[0], 1)
    videos = Unit.of(with_video, with_video.scenario.all_runs[0], 1)
    before = [key(unit, "mininet") for unit in (other, videos)]
    virtual = key(videos)
    install(installed, programs.BROWSER, "echo Chromium 150.0")
    after = [key(unit, "mininet") for unit in (other, videos)]
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert key(videos) == virtual


def test_a_run_with_videos_depends_on_the_page_of_the_browser(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, with_video = loaded(tmp_path), loaded(tmp_path, VIDEO)
    units = [Unit.of(one, one.scenario.all_runs[0], 1) for one in (found, with_video)]
    page = tmp_path / "video"
    shutil.copytree(programs.VIDEO, page)
    monkeypatch.setattr(programs, "VIDEO", page)
    before = [key(unit, "mininet") for unit in units]
    script = page / "page.js"
    script.write_text(script.read_text() + "// Another one.\n")
    after = [key(unit, "mininet") for unit in units]
    assert after[0] == before[0]
    assert after[1] != before[1]
    # Its Python is in the hash of the code.
    (page / "player.py").write_text("")
    assert [key(unit, "mininet") for unit in units] == after


def test_all_that_the_browser_is_shown_is_in_the_hash() -> None:
    shown = {file for _, file in player._FILES.values()}
    assert shown <= set(programs._page())


def test_the_browser_is_the_one_that_plays_videos() -> None:
    assert programs.BROWSER == video.BROWSER
