# SPDX-License-Identifier: Apache-2.0
"""The switch's test programs: manifest, staleness, rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from docsis_testbed import p4programs
from docsis_testbed.errors import TestbedError

FAKE_P4C = Path(__file__).parent / "data" / "bin"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two programs, one with a P4Info, and a fake p4c-bm2-ss as the only compiler."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("a.p4", "b.p4", "b.p4info.txtpb", "b.stf"):
        (programs / name).write_text(f"# {name}\n")
    monkeypatch.setenv("PATH", f"{FAKE_P4C}:/usr/bin:/bin")
    return programs


def test_build_compiles_what_is_wanted_and_check_reproduces_it(folder: Path) -> None:
    assert p4programs.build(folder) == ["a.json", "b.json", "b.p4info.txtpb"]
    assert '"p4include/v1model.p4"' in (folder / "a.json").read_text()
    assert p4programs.staleness(folder) == []
    assert "reproduces them" in p4programs.check(folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: (f / "a.p4").write_text("// new\n"), "a.p4 changed"),
        (lambda f: (f / "c.p4").write_text(""), "c.json is missing"),
        (lambda f: (f / "b.p4").unlink(), "b.json is gone"),
        (lambda f: (f / "a.json").write_text("{}"), "a.json changed"),
        (lambda f: (f / "b.json").unlink(), "b.json is missing"),
        (lambda f: (f / "manifest.json").write_text("{}"), "is no manifest"),
    ],
)
def test_every_mismatch_is_stale(folder: Path, change: object, sentence: str) -> None:
    p4programs.build(folder)
    assert callable(change)
    change(folder)
    with pytest.raises(TestbedError, match=sentence):
        p4programs.check(folder)


def test_a_failed_compilation_changes_nothing(folder: Path) -> None:
    p4programs.build(folder)
    before = (folder / "a.json").read_bytes()
    (folder / "b.p4").write_text("syntax_error\n")
    with pytest.raises(TestbedError, match=r"b\.p4: p4c failed"):
        p4programs.build(folder)
    assert (folder / "a.json").read_bytes() == before


def test_check_without_a_compiler_uses_the_manifest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p4programs.build(folder)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "is not here" in p4programs.check(folder)
    with pytest.raises(TestbedError, match="no P4 compiler"):
        p4programs.build(folder)
