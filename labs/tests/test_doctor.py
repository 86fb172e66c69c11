# SPDX-License-Identifier: Apache-2.0
"""The findings of `lab doctor` about p4c. No test has a real p4c: a script is in its place."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docsis_labs import doctor
from docsis_labs.doctor import Finding
from docsis_labs.exercise import LABS
from docsis_labs.p4 import trial
from docsis_labs.sandbox import sandbox
from docsis_testbed import p4build

FakeP4c = Callable[[str], None]

_HANG_SECONDS = f"1000.{os.getpid()}"
"""An argument by which the processes of these tests are told from others."""


@pytest.fixture
def fake_p4c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeP4c:
    """Puts a script on PATH as p4c-bm2-ss, which tells a version and then does as it is given."""
    command = tmp_path / "p4c" / "bin" / "p4c-bm2-ss"
    share = tmp_path / "p4c" / "share" / "p4c"
    command.parent.mkdir(parents=True)
    share.mkdir(parents=True)
    for suffix in ("json", "p4info.txtpb"):
        shutil.copy(LABS / "3-token-bucket" / "compiled" / f"skeleton.{suffix}", share)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")

    def write(script: str) -> None:
        command.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && { echo Version 9.8.7; exit; }\n'
            f"share={share}\n{script}\n"
        )
        for path in (command, command.parent, share, share.parent, *share.iterdir()):
            path.chmod(0o755)

    return write


@pytest.fixture(params=["in a sandbox", "without one"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The two ways in which p4c runs."""
    if request.param == "without one":
        monkeypatch.setattr(sandbox, "why_not", lambda: "there is none")
    elif sandbox.why_not() is not None:
        pytest.skip(str(sandbox.why_not()))
    yield
    # The kernel ends what runs in the sandbox when the sandbox has ended, which may take a moment.
    deadline = time.monotonic() + 10
    while left := _left():
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def _left() -> list[int]:
    """Processes of these tests that are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if _HANG_SECONDS.encode() in words:
            found.append(int(path.parent.name))
    return found


def _p4c() -> Finding:
    [found] = [one for one in doctor.findings() if one.what == "p4c"]
    return found


WORKS = """\
grep -q V1Switch trial.p4 || exit 1
cp $share/skeleton.json out.json
cp $share/skeleton.p4info.txtpb out.p4info.txt
"""


@pytest.mark.usefixtures("place")
def test_a_p4c_that_compiles_is_found(fake_p4c: FakeP4c) -> None:
    fake_p4c(WORKS)
    found = _p4c()
    assert found.found, found.text
    assert found.text.endswith("p4c-bm2-ss, version 9.8.7, compiles a trial program")


@pytest.mark.usefixtures("place")
def test_a_p4c_that_fails_is_told_with_its_words(fake_p4c: FakeP4c) -> None:
    fake_p4c("echo 'libboost_iostreams.so: cannot open shared object file' >&2; exit 127")
    found = _p4c()
    assert not found.found
    assert "libboost_iostreams.so: cannot open shared object file" in found.text
    assert "p4lang-p4c" in found.text


@pytest.mark.usefixtures("place")
def test_a_p4c_that_hangs_is_ended_with_all_that_it_started(
    fake_p4c: FakeP4c, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_p4c(f"sleep {_HANG_SECONDS}")
    monkeypatch.setattr(trial, "WALL_SECONDS", 0.5)
    found = _p4c()
    assert not found.found
    assert "did not end within" in found.text


@pytest.mark.usefixtures("place")
def test_a_p4c_has_as_much_memory_as_in_grading(fake_p4c: FakeP4c) -> None:
    fake_p4c('echo "it has $(ulimit -v) kB" >&2; exit 1')
    assert "it has 262144 kB" in _p4c().text


def test_a_program_that_the_switch_does_not_load_is_no_success(fake_p4c: FakeP4c) -> None:
    fake_p4c("echo '{}' > out.json; cp $share/skeleton.p4info.txtpb out.p4info.txt")
    found = _p4c()
    assert not found.found
    assert "The switch does not take trial.p4" in found.text


def test_a_p4c_that_does_not_tell_its_version_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "p4c-bm2-ss"
    command.write_text(f"#!/bin/sh\nexec sleep {_HANG_SECONDS}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(p4build, "_VERSION_SECONDS", 0.1)
    compiler = p4build.find_compiler()
    assert compiler is not None
    assert compiler.version == "unknown"
    assert not _left()
