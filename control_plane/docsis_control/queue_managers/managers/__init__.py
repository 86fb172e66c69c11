# SPDX-License-Identifier: Apache-2.0
"""One module a queue manager: its parameters, entries, law and presets.

`names` registers them: the module's name is the member's of `QueueManager`, in lower case. A module
has `MODEL`, its subclass of `QueueManagement`, and `PRESETS`.
"""
