# SPDX-License-Identifier: Apache-2.0
"""Finds what is added as a file: each module of a package declares one thing under one name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any


def modules(package: str, path: Iterable[str]) -> Iterator[ModuleType]:
    """The modules of a package, in the order of their names.

    Args:
        package: Its full name.
        path: Its `__path__`.
    """
    for module in pkgutil.iter_modules(path, f"{package}."):
        yield importlib.import_module(module.name)


def declared(package: str, path: Iterable[str], name: str) -> Iterator[Any]:
    """Yields what each module of a package has under a name, in the order of the names.

    Args:
        package: Its full name.
        path: Its `__path__`.
        name: Name that every module has.

    Raises:
        TypeError: A module has nothing of the name.
    """
    for module in modules(package, path):
        found = getattr(module, name, None)
        if found is None:
            raise TypeError(
                f"{module.__name__}: has no {name}, which every module of {package} has"
            )
        yield found
