# SPDX-License-Identifier: Apache-2.0
"""One module a queue manager: its parameters, entries, law and presets.

The module's name is the one that p4src/include/queue_managers.p4 registers, in lower case. A module
has `MODEL`, its subclass of `QueueManagement`, and `PRESETS`.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType


def modules() -> Mapping[str, ModuleType]:
    """Imports the modules that there are, by name."""
    return {
        found.name: import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
    }
