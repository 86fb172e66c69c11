# SPDX-License-Identifier: Apache-2.0
"""Finds the project's modules that a module needs: its imports, and theirs, read from the text.

Finding them imports nothing. What is imported within a function counts, what only a type checker
reads does not; a package that names its own `__path__` finds its modules by itself (`declared.py`),
so all of them count.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from docsis_control.project_files import package_folder
from docsis_testbed.errors import TestbedError

_PLACES: Final = {
    "docsis_control": "control_plane",
    "docsis_experiments": "experiments",
    "docsis_testbed": "mininet",
    "docsis_ptf": "ptf_tests",
    "docsis_cli": "cli",
}

PACKAGES: Final[Mapping[str, Path]] = MappingProxyType(
    {
        **{name: package_folder(name, place) for name, place in _PLACES.items()},
        "docsis": package_folder("docsis_control", "control_plane") / "gen" / "docsis",
    }
)
"""The project's packages; generated modules call each other by their own name."""


@functools.cache
def closure(*roots: str) -> Mapping[str, Path]:
    """The modules that some modules need, themselves included, by their full names.

    Args:
        roots: Full names of modules; a package stands for itself and not for its modules.

    Raises:
        TestbedError: One of them is none of the project's, or a file cannot be read.
    """
    for root in roots:
        if _file(root) is None:
            raise TestbedError(f"{root}: is no module of this project")
    found: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        for name in _with_parents(waiting.pop()):
            file = _file(name)
            if file is None or name in found:
                continue
            found[name] = file
            waiting += imports(name, file)
    return MappingProxyType(dict(sorted(found.items())))


def load(*roots: str) -> None:
    """Imports all modules that some modules need, so that none of them is imported later.

    Args:
        roots: As `closure` has them.

    Raises:
        TestbedError: As with `closure`.
        ImportError: One of them cannot be imported.
    """
    for name in closure(*roots):
        importlib.import_module(name)


def modules(package: str) -> list[str]:
    """All modules of a package and of the packages within it.

    Args:
        package: Its full name, of one of PACKAGES or below.
    """
    top, *rest = package.split(".")
    folder = PACKAGES[top].joinpath(*rest)
    names = []
    for path in folder.rglob("*.py"):
        parts = [*package.split("."), *path.relative_to(folder).with_suffix("").parts]
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(names)


def place_in_clone(file: Path) -> str:
    """Returns where a module's file is in a clone, also of an installed one: its name in hashes.

    Args:
        file: A file of one of PACKAGES, or any other.
    """
    for name, place in _PLACES.items():
        folder = package_folder(name, place)
        if file.is_relative_to(folder):
            return (Path(place) / name / file.relative_to(folder)).as_posix()
    return file.as_posix()


def imports(name: str, file: Path) -> Iterator[str]:
    """Yields full names that may be modules: those of a module's imports.

    Raises:
        TestbedError: The file cannot be read.
    """
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except OSError as error:
        raise TestbedError(f"{file}: cannot be read ({error.strerror})") from None
    except SyntaxError as error:
        raise TestbedError(f"{file}: is no Python ({error})") from None
    is_package = file.name == "__init__.py"
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(name, node, is_package=is_package)
            yield base
            # What is imported from a package may be a module of it, or a name.
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif is_package and isinstance(node, ast.Name) and node.id == "__path__":
            yield from (
                f"{name}.{path.parent.name if path.name == '__init__.py' else path.stem}"
                for path in (*file.parent.glob("*.py"), *file.parent.glob("*/__init__.py"))
                if path != file
            )


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker reads."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and _for_types_alone(node.test):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _for_types_alone(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _absolute(name: str, node: ast.ImportFrom, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


@functools.cache
def _file(name: str) -> Path | None:
    """The file of one of the project's modules; None for any other name."""
    top, *rest = name.split(".")
    if top not in PACKAGES:
        return None
    place = PACKAGES[top].joinpath(*rest)
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file() and (rest or path.name == "__init__.py"):
            return path
    return None
