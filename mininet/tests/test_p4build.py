# SPDX-License-Identifier: Apache-2.0
"""The P4 build: manifest, staleness, and no paths of this machine in the output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docsis_testbed import p4build
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4SRC

FAKE_P4C = Path(__file__).parent / "data" / "bin"


@pytest.fixture
def p4src(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small p4src/ and a fake p4c-bm2-ss as the only compiler on PATH."""
    source = tmp_path / "p4src"
    (source / "include").mkdir(parents=True)
    (source / "bench").mkdir()
    for name in ("cm.p4", "cmts.p4", "bench/l2.p4", "include/types.p4"):
        (source / name).write_text(f"// {name}\n")
    monkeypatch.setenv("PATH", f"{FAKE_P4C}:/usr/bin:/bin")
    monkeypatch.setenv("EXTRA_PATH", "/somewhere/on/this/machine")
    return source


def test_build_records_sources_and_outputs(p4src: Path) -> None:
    p4build.build(p4src)
    manifest = json.loads((p4src / "build" / "manifest.json").read_text())
    assert manifest["p4c"] == "1.2.4.4"
    assert set(manifest["sources_sha256"]) == {
        "cm.p4",
        "cmts.p4",
        "bench/l2.p4",
        "include/types.p4",
    }
    assert "bench/l2.json" in manifest["outputs_sha256"]
    assert set(manifest["outputs_sha256"]) == set(p4build.output_names(p4src))
    assert p4build.staleness(p4src) == []
    assert "reproduces" in p4build.check(p4src)


def test_include_folder_of_the_compiler_becomes_relative(p4src: Path) -> None:
    p4build.build(p4src)
    compiled = json.loads((p4src / "build" / "cm.json").read_text())
    assert compiled["filename"] == "p4include/v1model.p4"


def test_other_absolute_paths_are_refused(p4src: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUNK", "/home/me/include/types.p4")
    with pytest.raises(TestbedError, match="absolute path /home/me/include/types.p4"):
        p4build.build(p4src)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: (s / "cm.p4").write_text("// new\n"), "p4src/cm.p4 changed"),
        (lambda s: (s / "include" / "more.p4").write_text(""), "include/more.p4 is not in"),
        (lambda s: (s / "include" / "types.p4").unlink(), "include/types.p4 is gone"),
        (lambda s: (s / "build" / "cm.json").write_text("{}"), "cm.json is not what"),
        (lambda s: (s / "build" / "cmts.p4info.txtpb").unlink(), "cmts.p4info.txtpb is missing"),
        (lambda s: (s / "build" / "manifest.json").write_text("{"), "not a manifest"),
        (lambda s: (s / "build" / "manifest.json").unlink(), "manifest.json is missing"),
    ],
)
def test_every_mismatch_is_stale(p4src: Path, change: object, sentence: str) -> None:
    p4build.build(p4src)
    assert callable(change)
    change(p4src)
    with pytest.raises(TestbedError, match=sentence):
        p4build.require_current(p4src)


def test_failed_compilation_leaves_the_output_alone(p4src: Path) -> None:
    p4build.build(p4src)
    before = (p4src / "build" / "cm.json").read_bytes()
    (p4src / "cmts.p4").write_text("syntax_error\n")
    with pytest.raises(TestbedError, match=r"cmts\.p4: p4c failed"):
        p4build.build(p4src)
    assert (p4src / "build" / "cm.json").read_bytes() == before


def test_no_compiler_is_said_in_one_sentence(p4src: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TestbedError, match="no P4 compiler"):
        p4build.build(p4src)


def test_check_without_a_compiler_uses_the_manifest(
    p4src: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p4build.build(p4src)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "no p4c here" in p4build.check(p4src)


def test_committed_output_is_current() -> None:
    """The repository's own p4src/build/ matches its sources."""
    assert p4build.staleness() == []


def test_modems_and_cmts_run_one_program() -> None:
    """cm.p4 and cmts.p4 compile to the same, but for the name that the JSON has of it."""
    build = P4SRC / "build"
    modems, cmts = (json.loads((build / f"{name}.json").read_text()) for name in ("cm", "cmts"))
    assert (modems.pop("program"), cmts.pop("program")) == ("cm.p4", "cmts.p4")
    assert modems == cmts
    assert (build / "cm.p4info.txtpb").read_bytes() == (build / "cmts.p4info.txtpb").read_bytes()
