# SPDX-License-Identifier: Apache-2.0
"""Runs flent, which draws plots of its data files.

flent is under the GPL, version 3. It is no dependency of this project: it is run as a program where
a user has installed it and asks for a plot, and nothing here imports it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from docsis_testbed.errors import TestbedError

_PLOT: Final = re.compile(r"[a-z0-9_]{1,60}")
_SECONDS: Final = 300


def find(plot: str) -> Path:
    """Returns the program: beside this Python, or on PATH.

    Args:
        plot: Name of the plot that it is to draw.

    Raises:
        TestbedError: There is no such program, or nothing of flent's can have that name.
    """
    if not _PLOT.fullmatch(plot):
        raise TestbedError(
            f'--plot: "{plot}" is not a name of a plot; flent\'s have lower-case letters, digits '
            "and underscores, such as ping_cdf"
        )
    beside = Path(sys.executable).with_name("flent")
    found = str(beside) if beside.is_file() else shutil.which("flent")
    if found is None:
        raise TestbedError(
            "flent is missing, both beside this Python and on PATH; install it with `pip install "
            "flent matplotlib`, or leave --plot out, because the files are written without flent"
        )
    return Path(found)


def draw(program: Path, plot: str, files: Sequence[Path], picture: Path) -> None:
    """Has flent draw a plot of data files.

    Args:
        program: flent.
        plot: Name of one of the plots of the files' test.
        files: What to draw.
        picture: The PNG file to write.

    Raises:
        TestbedError: flent has no such plot, or failed; the message has flent's own words.
    """
    inputs = [word for file in files for word in ("--input", str(file))]
    try:
        ended = subprocess.run(
            [program, "--format", "plot", "--plot", plot, "--output", picture, *inputs],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            env={**os.environ, "MPLBACKEND": "agg"},
        )
    except subprocess.TimeoutExpired:
        raise TestbedError(f"flent took more than {_SECONDS} s to draw {plot}") from None
    except OSError as error:
        raise TestbedError(f"{program}: cannot be started ({error.strerror})") from None
    # flent opens the picture before it looks for the plot, and ends with 0 when it has none.
    if ended.returncode != 0 or not picture.is_file() or picture.stat().st_size == 0:
        lines = (ended.stderr or ended.stdout).strip().splitlines()
        raise TestbedError(
            f"flent did not draw {plot}: {lines[-1][:300] if lines else 'it printed no reason'}"
        )
