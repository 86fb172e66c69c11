# SPDX-License-Identifier: Apache-2.0
"""The program flent, which draws plots of its data files. It is under the GPL and not ours."""

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


def find() -> Path:
    """Returns the program: beside this Python, or on PATH.

    Raises:
        TestbedError: There is none.
    """
    beside = Path(sys.executable).with_name("flent")
    found = str(beside) if beside.is_file() else shutil.which("flent")
    if found is None:
        raise TestbedError(
            "flent is not there, neither beside this Python nor on PATH; install it with `pip "
            "install flent`, or leave --plot out: the files are written without it"
        )
    return Path(found)


def draw(program: Path, plot: str, files: Sequence[Path], folder: Path) -> Path:
    """Has flent draw a plot of some files.

    Args:
        program: flent.
        plot: Name of one of the plots of the files' test.
        files: What to draw.
        folder: Gets the picture.

    Returns:
        The picture, PLOT.png.

    Raises:
        TestbedError: flent has no such plot, or failed; the words are its own.
    """
    if not _PLOT.fullmatch(plot):
        raise TestbedError(f'--plot: "{plot}" is no name of a plot, such as upload_with_ping')
    picture = folder / f"{plot}.png"
    inputs = [word for file in files for word in ("--input", str(file))]
    try:
        ended = subprocess.run(
            [program, "--format", "plot", "--plot", plot, "--output", picture, *inputs],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            env={**os.environ, "MPLBACKEND": "agg"},
        )
    except subprocess.TimeoutExpired:
        raise TestbedError(f"flent took more than {_SECONDS} s to draw {plot}") from None
    except OSError as error:
        raise TestbedError(f"{program}: cannot be started ({error.strerror})") from None
    if ended.returncode != 0 or not picture.is_file():
        lines = (ended.stderr or ended.stdout).strip().splitlines()
        raise TestbedError(
            f"flent did not draw {plot}: {lines[-1] if lines else 'it said nothing'}"
        )
    return picture
