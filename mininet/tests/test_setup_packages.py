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
ENV = "/usr/bin/env"


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


def test_a_python_environment_needs_no_compiler(programs: Path) -> None:
    assert asked(programs, "debian", "python") == (0, "")


@pytest.fixture
def installing(programs: Path) -> Path:
    """The same as root, with an apt-get that a test writes, and no time that passes."""
    for name in ("chmod", "flock", "grep", "rm"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    write(programs / "id", "echo 0")
    write(programs / "sleep", f"echo sleep >>{programs}/calls")
    return programs


def write(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def installed(programs: Path, apt_get: str) -> tuple[int, list[str], str]:
    """Runs set-up with an apt-get; returns the exit status, the calls, and the error output."""
    (programs / "calls").unlink(missing_ok=True)
    write(programs / "apt-get", f'echo "$*" >>{programs}/calls\n{apt_get}')
    # Tests that were started in the background ignore SIGINT, and a shell cannot trap what was
    # ignored when it began.
    ended = subprocess.run(
        [ENV, "--default-signal=INT", "/bin/sh", SCRIPT, sys.executable, "build"],
        env={"PATH": str(programs), "POLICY_RC_D": str(programs / "policy")},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, (programs / "calls").read_text().splitlines(), ended.stderr


@pytest.mark.parametrize(
    ("signal", "status"), [("HUP", 129), ("INT", 130), ("TERM", 143), (None, 0)]
)
def test_however_set_up_ends_services_may_start_again(
    installing: Path, signal: str | None, status: int
) -> None:
    policy = installing / "policy"
    ends = f"kill -{signal} $PPID" if signal else ":"
    # While packages are installed no service may start.
    script = f'case "$*" in *install*) {policy} || echo $? >>{installing}/calls; {ends};; esac'
    ended, calls, _ = installed(installing, script)
    assert (ended, calls[-1]) == (status, "101")
    assert not policy.exists()


def test_what_a_killed_set_up_left_does_not_stay(installing: Path) -> None:
    policy = installing / "policy"
    assert installed(installing, 'case "$*" in *install*) kill -KILL $PPID;; esac')[0] == -9
    assert policy.exists()
    # Even if its packages are there by now.
    for name in ("gcc", "cc"):
        write(installing / name, "")
    subprocess.run(
        ["/bin/sh", SCRIPT, sys.executable, "build"],
        env={"PATH": str(installing), "POLICY_RC_D": str(policy)},
        check=True,
    )
    assert not policy.exists()


def test_an_administrators_own_policy_stays(installing: Path) -> None:
    policy = installing / "policy"
    policy.write_text("#!/bin/sh\nexit 101\n")
    assert installed(installing, "")[0] == 0
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"


def test_set_up_waits_for_other_users_of_apt(installing: Path) -> None:
    locked = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
    script = (
        f"[ -e {installing}/free ] || {{ : >{installing}/free; echo '{locked}' >&2; exit 100; }}"
    )
    status, calls, _ = installed(installing, script)
    update, install = "-o DPkg::Lock::Timeout=300 update", "-o DPkg::Lock::Timeout=300 install"
    assert status == 0
    assert [call[: len(update)] for call in calls[:3]] == [update, "sleep", update]
    assert calls[3].startswith(install)


@pytest.mark.parametrize(
    ("words", "waits"), [("Could not get lock /var/lib/apt/lists/lock.", 60), ("No network.", 0)]
)
def test_an_update_that_fails_is_told(installing: Path, words: str, waits: int) -> None:
    status, calls, said = installed(installing, f"echo 'E: {words}' >&2; exit 100")
    assert status == 1
    assert calls.count("sleep") == waits
    assert said.startswith(f"E: {words}\nset-up: apt-get update failed; ")


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
