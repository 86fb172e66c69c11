# SPDX-License-Identifier: Apache-2.0
"""The rows that can be measured. To add one, add it to the `ROWS` of a module of its paper.

Each paper is a package here, p000 and so on; each of its modules has `ROWS`, and may have a
function `figures` (`reproduction/figure.py`). Nothing else has to know of a new one.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType

from docsis_experiments.declared import modules
from docsis_experiments.reproduction.figure import Figures
from docsis_experiments.reproduction.row import Row


@functools.cache
def rows() -> Mapping[str, Row]:
    """All rows by their ids, in the order of papers and modules.

    Raises:
        TypeError: A module has no rows, or two have the same.
    """
    found: dict[str, Row] = {}
    for module in _modules():
        for row in _rows_of(module):
            if row.id in found:
                raise TypeError(f"{module.__name__}: there is a row {row.id} already")
            found[row.id] = row
    return MappingProxyType(found)


@functools.cache
def figures() -> Mapping[Figures, tuple[str, ...]]:
    """Functions that draw what was measured, each with the ids of the rows that it is given."""
    found: dict[Figures, tuple[str, ...]] = {}
    for module in _modules():
        drawn = getattr(module, "figures", None)
        if drawn is not None:
            found[drawn] = tuple(row.id for row in _rows_of(module))
    return MappingProxyType(found)


def _modules() -> Iterator[ModuleType]:
    for paper in pkgutil.iter_modules(__path__, f"{__name__}."):
        if paper.ispkg:
            yield from modules(paper.name, importlib.import_module(paper.name).__path__)


def _rows_of(module: ModuleType) -> tuple[Row, ...]:
    found = getattr(module, "ROWS", None)
    if not isinstance(found, tuple) or not all(isinstance(row, Row) for row in found):
        raise TypeError(f"{module.__name__}: has no ROWS, which every module of a paper has")
    return found
