# SPDX-License-Identifier: Apache-2.0
"""Which packages set-up asks for, on a system that has none of them and without installing any."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docsis_testbed.paths import ROOT

SCRIPT = ROOT / "mininet" / "setup" / "debian-packages.sh"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH: what the script itself calls, and a user who is not root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sed", "tr"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    user = folder / "id"
    user.write_text("#!/bin/sh\necho 1000\n")
    user.chmod(0o755)
    return folder


def asked(programs: Path, system: str | None, *only: str) -> tuple[int, str]:
    """Runs the script, and returns its exit status and what it says."""
    release = programs.parent / "os-release"
    if system is not None:
        release.write_text(f'NAME="Some Linux"\nID={system}\nID_LIKE=debian\n')
    ended = subprocess.run(
        ["/bin/sh", SCRIPT, sys.executable, *only],
        env={"PATH": str(programs), "OS_RELEASE": str(release)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ended.stdout
    return ended.returncode, ended.stderr


# A system without the file is taken for Debian.
@pytest.mark.parametrize("system", ["debian", '"debian"', "linuxmint", None])
def test_debian_has_a_browser_for_the_live_pages_tests(programs: Path, system: str | None) -> None:
    status, words = asked(programs, system)
    assert status == 1
    packages = words.partition("missing:")[2].partition(";")[0].split()
    assert {"iperf3", "irtt", "tcpdump", "chromium", "chromium-driver"} <= set(packages)


@pytest.mark.parametrize("system", ["ubuntu", '"ubuntu"'])
def test_ubuntu_is_not_asked_for_a_snap(programs: Path, system: str) -> None:
    status, words = asked(programs, system)
    assert status == 1
    assert "iperf3" in words
    assert "chromium" not in words


def test_videos_on_ubuntu_need_a_browser_of_ones_own(programs: Path) -> None:
    status, words = asked(programs, "ubuntu", "video")
    assert status == 1
    assert words.startswith("set-up: Ubuntu has Chromium only as a snap; put a chromium")
    own = programs / "chromium"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert "Chromium" not in asked(programs, "ubuntu", "video")[1]


def test_a_run_needs_nothing_that_only_tests_use(programs: Path) -> None:
    status, words = asked(programs, "debian", "run")
    assert status == 1
    packages = words.partition("missing:")[2].partition(";")[0].split()
    assert {"mininet", "iperf3", "irtt", "tcpdump", "iputils-ping", "gcc"} <= set(packages)
    assert not {"chromium", "chromium-driver", "ethtool", "snmp", "bubblewrap"} & set(packages)


def _make(tmp_path: Path, passwd: str, *target: str) -> str:
    """Runs make as sudo would for a user with that line in passwd, and returns what it prints."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cut", "grep", "make", "nproc", "sed", "sh"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    getent = folder / "getent"
    getent.write_text(f'#!/bin/sh\necho "{passwd}"\n')
    getent.chmod(0o755)
    return subprocess.run(
        [folder / "make", "--no-print-directory", *target],
        cwd=ROOT,
        env={"PATH": str(folder), "SUDO_USER": "tester"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("installed", [False, True])
def test_with_sudo_the_users_rust_serves(tmp_path: Path, installed: bool) -> None:
    home = tmp_path / "home"
    cargo = home / ".cargo" / "bin" / "cargo"
    cargo.parent.mkdir(parents=True)
    if installed:
        cargo.write_text("#!/bin/sh\necho $RUSTUP_HOME\n")
        cargo.chmod(0o755)
    said = _make(
        tmp_path, f"tester:x:1000:1000::{home}:/bin/sh",
        "--eval=which-rust: ; @cargo 2>/dev/null || echo none", "which-rust",
    )  # fmt: skip
    assert said.strip() == (str(home / ".rustup") if installed else "none")


def test_building_needs_no_testbeds_packages(programs: Path) -> None:
    for name in ("gcc", "cc"):
        program = programs / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    _, words = asked(programs, "ubuntu", "build")
    assert "iperf3" not in words
