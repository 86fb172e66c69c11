# SPDX-License-Identifier: Apache-2.0
"""Finds the `Shaper` that a run was told to use."""

from __future__ import annotations

import importlib
from typing import Final

from docsis_ptf.bmv2_shaper import Bmv2Thrift
from docsis_ptf.shaper import Shaper
from docsis_ptf.tm_shaper import Call, TrafficManager

DEFAULT: Final = "docsis.tm.v1"
BMV2: Final = "bmv2-thrift"
_KINDS: Final = f"{DEFAULT}, {BMV2}=HOST:PORT, or MODULE:CLASS=ARGUMENT of your own"


def make(spec: str, call: Call, device_id: int) -> Shaper:
    """The shaper that `spec` names.

    Args:
        spec: "docsis.tm.v1", a service on the P4Runtime server's port; "bmv2-thrift=HOST:PORT"; or
            "MODULE:CLASS=ARGUMENT": CLASS(ARGUMENT) of a module on PYTHONPATH is a `Shaper`.
        call: Calls methods of the P4Runtime server's port.
        device_id: P4Runtime's.

    Raises:
        ValueError: There is no such shaper.
    """
    kind, _, argument = spec.partition("=")
    if spec == DEFAULT:
        return TrafficManager(call, device_id)
    if kind == BMV2 and argument.rpartition(":")[2].isdigit():
        return Bmv2Thrift(argument)
    module, colon, name = kind.partition(":")
    if not colon:
        raise ValueError(f"shaper {spec!r}: there are {_KINDS}")
    try:
        found = getattr(importlib.import_module(module), name)(argument)
    except (ImportError, AttributeError, TypeError) as error:
        raise ValueError(
            f"shaper {spec!r}: {error}; it is MODULE:CLASS=ARGUMENT, with the module on PYTHONPATH"
        ) from None
    if not isinstance(found, Shaper):
        missing = sorted(
            method
            for method in vars(Shaper)
            if not method.startswith("_") and not hasattr(found, method)
        )
        raise ValueError(f"shaper {spec!r}: {name} has no {', '.join(missing)}")
    return found
