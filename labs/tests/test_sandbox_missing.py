# SPDX-License-Identifier: Apache-2.0
"""What `lab doctor` and `lab grade` say where bubblewrap is missing, or refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from docsis_labs import doctor
from docsis_labs.sandbox import sandbox
from docsis_testbed.errors import TestbedError

REFUSED = "bwrap: setting up uid map: Permission denied"


@pytest.fixture
def bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None, int], None]:
    """Puts a script in bubblewrap's place, or nothing, and makes somebody else run it."""

    def put(script: str | None, user: int) -> None:
        if script is not None:
            command = tmp_path / "bwrap"
            command.write_text(f"#!/bin/sh\n{script}\n")
            command.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(os, "geteuid", lambda: user)
        # A reason is found once in a process.
        monkeypatch.setattr(sandbox, "why_not", sandbox.why_not.__wrapped__)

    return put


def _told() -> tuple[str, str]:
    """What the doctor says of the sandbox, and what ends `lab grade`."""
    [found] = [one for one in doctor.findings() if one.what == "sandbox"]
    assert not found.found
    assert not found.in_exercises
    with pytest.raises(TestbedError) as caught:
        sandbox.sandbox()
    return found.text, str(caught.value)


@pytest.mark.parametrize(
    ("user", "step"),
    [
        (1000, "run as root, or allow user namespaces (on Ubuntu: sysctl "
               "kernel.apparmor_restrict_unprivileged_userns=0)"),
        (0, "run where root may make namespaces"),
    ],
)  # fmt: skip
def test_where_it_is_refused_nobody_is_told_to_install_it(
    bubblewrap: Callable[[str | None, int], None], user: int, step: str
) -> None:
    bubblewrap(f"echo '{REFUSED}' >&2; exit 1", user)
    for words in _told():
        assert f"({REFUSED}): {step}" in words
        assert "apt-get" not in words


def test_where_it_is_missing_it_is_to_be_installed(
    bubblewrap: Callable[[str | None, int], None],
) -> None:
    bubblewrap(None, 1000)
    for words in _told():
        assert "apt-get install bubblewrap" in words
        assert "namespaces" not in words
