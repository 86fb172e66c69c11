# SPDX-License-Identifier: Apache-2.0
"""No module of the switch is part of an import circle."""

from __future__ import annotations

from pathlib import Path

import pytest
from documentation import ROOT
from rust_modules import circle, dependencies

CRATES = sorted(path.parent for path in (ROOT / "switch" / "crates").glob("*/Cargo.toml"))


def crate(folder: Path, **files: str) -> Path:
    """Writes the source files of a crate, `a__b` as a/b.rs, and returns their folder."""
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".rs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("folder", CRATES, ids=lambda path: path.name)
def test_modules_do_not_import_each_other(folder: Path) -> None:
    found = circle(folder / "src")
    assert not found, (
        f"{folder.name}: {' uses '.join(found)}; move what they share into a module of its own"
    )


def test_the_workspace_is_looked_at() -> None:
    graph = dependencies(ROOT / "switch" / "crates" / "v1model" / "src")
    assert ("op",) in graph[("machine",)]
    assert ("code",) in graph[("program",)]


def test_a_circle_of_uses_is_found(tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="mod a; mod b; mod c;",
        a="use crate::b::{self, B};\npub struct A;",
        b="pub struct B;\nfn f() -> crate::c::C { todo!() }",
        c="use super::a::A as Renamed;\npub struct C;",
    )
    found = circle(source)
    assert found[0] == found[-1]
    assert found[:-1] in rotations(["crate::a", "crate::b", "crate::c"])


def rotations(names: list[str]) -> list[list[str]]:
    return [names[at:] + names[:at] for at in range(len(names))]


def test_a_re_export_counts_as_what_it_shows(tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="mod a;\nmod b;\npub use a::A;\npub use b::{B as Other};",
        a="use crate::Other;\npub struct A;",
        b="use crate::A;\npub struct B;",
    )
    assert set(circle(source)) == {"crate::a", "crate::b"}


def test_what_lies_around_a_module_and_tests_make_no_circle(tmp_path: Path) -> None:
    tests = "#[cfg(test)]\nmod tests {\n    use super::super::c::C;\n}"
    source = crate(
        tmp_path,
        lib="mod a;\nmod d;",
        a__mod="mod b;\nmod c;\n#[cfg(test)]\nmod cases;\npub use b::B;\nfn f(b: b::B) {}",
        a__b=f"use super::A;\npub struct B;\n{tests}",
        a__c="// use crate::d::D;\nuse super::B;\npub struct C;",
        a__cases="use crate::d::D;\nuse super::c::C;",
        d="use crate::a::A;\npub struct D;",
    )
    assert circle(source) == []
    assert dependencies(source)[("a", "c")] == {("a", "b")}
