# SPDX-License-Identifier: Apache-2.0
"""Writes the story of a folder of published results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from docsis_experiments.reproduction import earlier
from docsis_experiments.reproduction.story.telling import told
from docsis_experiments.reproduction.writing import RESULTS_FILE
from docsis_experiments.runs.files import write_atomically
from docsis_testbed.errors import TestbedError

STORY_FILE: Final = "story.md"


def main(argv: Sequence[str] | None = None) -> int:
    """Writes story.md and its pictures beside a results.json.

    Returns:
        The exit code: 1 where the results cannot be read or have overtaken the story; then nothing
        is written.
    """
    parser = argparse.ArgumentParser(
        prog="python -m docsis_experiments.reproduction.story", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="a folder with results.json: docs/results")
    folder: Path = parser.parse_args(argv).folder
    try:
        story = told(earlier.read(folder / RESULTS_FILE))
        for name, picture in story.pictures.items():
            write_atomically(folder / name, picture)
        write_atomically(folder / STORY_FILE, story.text.encode())
    except TestbedError as error:
        print(f"the story: {error}", file=sys.stderr)
        return 1
    print(f"Written: {folder / STORY_FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
