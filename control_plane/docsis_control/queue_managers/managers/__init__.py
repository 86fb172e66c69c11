# SPDX-License-Identifier: Apache-2.0
"""One module a queue manager: its parameters, entries, law and presets.

`names` registers them: the module's name is the member's of `QueueManager`, in lower case. A module
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
