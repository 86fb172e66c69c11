# SPDX-License-Identifier: Apache-2.0
"""The limits of a compiler, and what a student is told of how it ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from docsis_labs.errors import SubmissionError
from docsis_labs.p4 import compiling
from docsis_labs.sandbox.limits import COMPILER
from docsis_labs.sandbox.sandbox import own_files, sandbox, why_not
from docsis_testbed.p4build import Compiler


def _compiler(folder: Path, script: str) -> Compiler:
    command = folder / "p4c" / "bin" / "p4c-bm2-ss"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{script}\n")
    for path in (command, command.parent, command.parent.parent):
        path.chmod(0o755)
    return Compiler(command, "0.0.0")


_MAKES = "echo '{}' > out.json; echo p4info > out.p4info.txt"


def _compile(compiler: Compiler) -> SubmissionError:
    with pytest.raises(SubmissionError) as caught:
        compiling.compiled(compiler, "lab.p4", "// nothing\n", own_files())
    return caught.value


def test_a_compiler_that_uses_up_its_processor_time_is_too_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "COMPILER", replace(COMPILER, processor_seconds=1))
    error = _compile(_compiler(tmp_path, "while :; do :; done"))
    assert "1 s of processor time" in error.missed.hint
    assert not error.by_hand


def test_a_compiler_that_waits_is_nothing_that_a_student_is_to_blame_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_WALL_SECONDS", 0.1)
    error = _compile(_compiler(tmp_path, "exec sleep 1000"))
    assert error.by_hand


def test_a_compiler_may_be_a_link_to_where_it_is(tmp_path: Path) -> None:
    compiler = _compiler(tmp_path, _MAKES)
    link = tmp_path / "links" / "p4c-bm2-ss"
    link.parent.mkdir()
    link.symlink_to(compiler.command)
    made = compiling.compiled(
        replace(compiler, command=link), "lab.p4", "// nothing\n", own_files()
    )
    assert made.name == "lab.p4"


def test_a_syntax_error_is_told_with_its_line(tmp_path: Path) -> None:
    words = 'lab.p4(60):syntax error, unexpected IDENTIFIER "burst"'
    error = _compile(_compiler(tmp_path, f"echo '{words}' >&2; exit 1"))
    assert error.missed.hint == (
        'lab.p4, line 60: p4c says: syntax error, unexpected IDENTIFIER "burst"'
    )


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("linked", [False, True])
def test_a_compiler_at_home_shows_nothing_else_of_the_home(tmp_path: Path, linked: bool) -> None:
    needed = ("bin/p4c-helper", "share/p4c/p4include/core.p4", "lib/libgc.so.1", "bin/p4include/a")
    private = ("diary", "bin/other", "lib/notes", "share/keys", "share/p4c.key")
    home = tmp_path / "p4c"
    looks = f"cd {home}; ls {' '.join(needed)} >&2 || exit 1; "
    looks += f"for f in {' '.join(private)}; do ! [ -e $f ] || exit 1; done; cd - >/dev/null; "
    compiler = _compiler(tmp_path, looks + _MAKES)
    for name in (*needed, *private):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    if linked:
        (home / "lib" / "libgc.so.1").rename(home / "lib" / "libgc.so.1.5")
        (home / "lib" / "libgc.so.1").symlink_to("libgc.so.1.5")
    assert compiling.compiled(compiler, "lab.p4", "// nothing\n", sandbox()).name == "lab.p4"
