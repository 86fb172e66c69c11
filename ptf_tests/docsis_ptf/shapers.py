# SPDX-License-Identifier: Apache-2.0
"""Finds the `Shaper` that a run was told to use."""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from typing import Any, Final

from docsis_ptf.bmv2_shaper import Bmv2Thrift
from docsis_ptf.shaper import Shaper
from docsis_ptf.tm_shaper import Call, TrafficManager

DEFAULT: Final = "docsis.tm.v1"
BMV2: Final = "bmv2-thrift"
_KINDS: Final = f"{DEFAULT}, {BMV2}=HOST:PORT, or MODULE:CLASS=ARGUMENT of your own"


def check(spec: str) -> None:
    """Looks whether there is such a shaper, without making it: its target may not run yet.

    ValueError: There is none.
    """
    if not _shipped(spec):
        _own(spec)


def make(spec: str, call: Call, device_id: int) -> Shaper:
    """The shaper that `spec` names.

    Args:
        spec: "docsis.tm.v1", a service on the P4Runtime server's port; "bmv2-thrift=HOST:PORT"; or
            "MODULE:CLASS=ARGUMENT": CLASS(ARGUMENT) of a module on PYTHONPATH is a `Shaper`.
        call: Calls methods of the P4Runtime server's port.
        device_id: P4Runtime's.

    Raises:
        ValueError: There is no such shaper, or it cannot be made.
    """
    _, _, argument = spec.partition("=")
    if spec == DEFAULT:
        return TrafficManager(call, device_id)
    if _shipped(spec):
        return Bmv2Thrift(argument)
    name, kind = _own(spec)
    try:
        found = kind(argument)
    # It is somebody else's code, which may raise anything.
    except Exception as error:
        raise ValueError(
            f"shaper {spec!r}: {name}({argument!r}) failed: {_told(error)}; correct the class or"
            " its ARGUMENT"
        ) from error
    if not isinstance(found, Shaper):
        missing = sorted(
            method
            for method in vars(Shaper)
            if not method.startswith("_") and not hasattr(found, method)
        )
        raise ValueError(f"shaper {spec!r}: {name} has no {', '.join(missing)}")
    return found


def _shipped(spec: str) -> bool:
    """Whether it is one of the suite's own."""
    kind, _, argument = spec.partition("=")
    return spec == DEFAULT or (kind == BMV2 and argument.rpartition(":")[2].isdigit())


def _own(spec: str) -> tuple[str, Any]:
    """Name and class of a shaper of somebody's own. ValueError: there is no such class."""
    module, colon, name = spec.partition("=")[0].partition(":")
    if not colon:
        raise ValueError(f"shaper {spec!r}: there are {_KINDS}")
    try:
        return name, getattr(importlib.import_module(module), name)
    # A module that is imported runs, and may raise anything.
    except Exception as error:
        raise ValueError(
            f"shaper {spec!r}: {_told(error)}; it is MODULE:CLASS=ARGUMENT, with the module on"
            " PYTHONPATH"
        ) from error


def _told(error: Exception) -> str:
    """An exception in one line, with its place where that is in somebody's file."""
    words = " ".join(str(error).split())
    told = f"{type(error).__name__}: {words}" if words else type(error).__name__
    places = [
        f"{Path(frame.filename).name}, line {frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        # Not this file, and not Python's own way to a module.
        if frame.filename != __file__ and "importlib" not in frame.filename
    ]
    return f"{told} ({places[-1]})" if places else told
