# SPDX-License-Identifier: Apache-2.0
"""Versions of what makes and carries the traffic of a run in Mininet, beside our code.

The kernel's TCP is what is measured there, and iperf3, irtt and the browser are who sends.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from docsis_experiments.runs.file_hashes import Signature, signature
from docsis_testbed import versions

ABSENT: Final = "absent"
"""Stands for the version of a program that is not there, or does not tell one."""

BROWSER: Final = "chromium"
"""The player of adaptive videos. Its package is Mininet's (`stages.mininet.traffic.video`), which
nothing imports that virtual time needs; a test compares the two."""

_OF_EVERY_RUN: Final = ("iperf3", "irtt")


def of_every_run() -> Mapping[str, str]:
    """The kernel's release, and the versions of the programs that any run may start, by name."""
    return {"kernel": os.uname().release, **{name: version(name) for name in _OF_EVERY_RUN}}


def version(program: str) -> str:
    """The version of a program on PATH as it tells it; ABSENT where it tells none.

    It is asked once, and again only after it was installed anew.

    Args:
        program: Its name.

    Raises:
        TestbedError: It was removed in this very moment.
    """
    place = shutil.which(program)
    return ABSENT if place is None else _told(place, signature(Path(place)))


@functools.lru_cache(maxsize=16)
def _told(place: str, installed: Signature) -> str:
    del installed
    told = versions.told(place)
    return ABSENT if told == versions.UNKNOWN else told
