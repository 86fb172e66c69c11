# SPDX-License-Identifier: Apache-2.0
"""Versions of what makes and carries the traffic of a run in Mininet, beside our code.

The kernel's TCP is what is measured there. irtt, libtorrent (uploads by LEDBAT), Tornado (pages and
videos) and the browser are who sends, and so is the page that the browser is shown, which no import
tells. No run starts iperf3: bench, chaos and tests do, and keep nothing by a key.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from docsis_experiments.runs.closure import PACKAGES, place_in_clone
from docsis_experiments.runs.file_hashes import FileHashes, Signature, signature
from docsis_testbed import versions

ABSENT: Final = "absent"
"""Stands for the version of a program that is not there, or does not tell one."""

BROWSER: Final = "chromium"
"""The player of adaptive videos. Its package is Mininet's (`stages.mininet.traffic.video`), which
nothing imports that virtual time needs; a test compares the two."""

VIDEO: Final = PACKAGES["docsis_experiments"] / "stages/mininet/traffic/video"
"""Folder of the player's package, which has the browser's page and dash.js."""

_PROGRAMS: Final = ("irtt",)
_PYTHON_PACKAGES: Final = ("libtorrent", "tornado")
_FILES: Final = FileHashes()


def of_every_run() -> Mapping[str, str]:
    """The kernel's release, and the versions of the senders that any run may start, by name."""
    return {
        "kernel": os.uname().release,
        **{name: version(name) for name in _PROGRAMS},
        **{name: _known(versions.package(name)) for name in _PYTHON_PACKAGES},
    }


def of_videos() -> Mapping[str, str]:
    """The browser's version and a hash of the page that it plays adaptive videos in, by name.

    Raises:
        TestbedError: A file of the page cannot be read, or the browser was removed in this very
            moment.
    """
    page = _FILES.of((place_in_clone(path), path) for path in sorted(_page()))
    return {"browser": version(BROWSER), "page": page}


def _page() -> Iterator[Path]:
    """Yields all files of the player's package that are not Python, which has its own hash."""
    for path in VIDEO.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            yield path


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
    return _known(versions.told(place))


def _known(told: str) -> str:
    return ABSENT if told == versions.UNKNOWN else told
