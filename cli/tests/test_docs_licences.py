# SPDX-License-Identifier: Apache-2.0
"""The page about licences names every copyleft package, and flent is no part of the product."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from documentation import DOCS, ROOT

PAGE = DOCS / "reference" / "third-party.md"
PRODUCT = ("cli/docsis_cli", "control_plane", "experiments", "labs", "mininet", "ptf_tests")


def licence(one: Distribution) -> str:
    """Returns what a package says of its licence, in whichever field it says it."""
    fields = ("License-Expression", "License", "Classifier")
    words = [text for field in fields for text in one.metadata.get_all(field) or ()]
    # Some packages have the whole text in the field License: its first line is the name.
    return " ".join(text.partition("\n")[0] for text in words)


def normal(name: str) -> str:
    """Returns a package's name in the form in which two names can be compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def of_the_lock() -> Iterator[tuple[str, str]]:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    pinned = {normal(name) for name in re.findall(r"(?m)^([\w.-]+)==", lock)}
    for one in distributions():
        name = str(one.metadata["Name"])
        if normal(name) in pinned:
            yield name, licence(one)


def test_the_page_names_every_package_with_copyleft() -> None:
    packages = dict(of_the_lock())
    assert len(packages) > 50
    page = PAGE.read_text("utf-8").lower()
    copyleft = [
        name for name, words in packages.items() if re.search(r"GPL|GNU|MPL|Mozilla", words)
    ]
    assert "scapy" in copyleft
    assert [name for name in copyleft if name.lower() not in page] == []


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("folder", PRODUCT)
def test_nothing_imports_flent(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert [path for path in files if "flent" in set(imports(path))] == []


def test_only_the_ptf_suite_and_tests_import_scapy() -> None:
    files = [
        path
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
        if "scapy" in set(imports(path))
    ]
    assert files
    outside = [path.relative_to(ROOT) for path in files if "tests" not in path.parts]
    assert {path.parts[0] for path in outside} == {"ptf_tests"}


def test_pip_install_does_not_install_flent() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [re.match(r"[\w.-]+", one) for one in project["dependencies"]]
    names = {normal(name.group()) for name in wanted if name}
    assert "scapy" in names
    assert "flent" not in names
