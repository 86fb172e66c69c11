# SPDX-License-Identifier: Apache-2.0
"""One module a queue manager: its parameters, entries, law and presets.

`names` registers them: the module's name is the member's of `QueueManager`, in lower case. A module
has `MODEL`, its subclass of `QueueManagement`, and `PRESETS`.
"""

from typing import Final

FOLDERS: Final = tuple(__path__)
"""Folders of the modules. They are found by name, so all of them belong to what uses the package:
whoever reads `__path__` says so to `docsis_experiments.runs.closure`."""
