# SPDX-License-Identifier: Apache-2.0
"""The three areas that are mutated: the pipeline in P4, the traffic manager in Rust, the laws.

For each: its files, the changes that its language allows, and which tests are nearest to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from docsis_mutants import braced_changes, python_changes
from docsis_mutants.site import Change, Site, located


class Area(StrEnum):
    """What is mutated."""

    P4 = "p4"
    TRAFFIC_MANAGER = "traffic-manager"
    LAWS = "laws"


@dataclass(frozen=True)
class Sources:
    """The sources of an area.

    Attributes:
        folder: From the project's root.
        pattern: Of the files in it, and in its folders.
        without: Names of files that hold tests.
        changes: Finds the changes in a text.
    """

    folder: str
    pattern: str
    changes: Callable[[str], Iterator[Change]]
    without: frozenset[str] = frozenset()

    def files(self, root: Path) -> list[Path]:
        """Its files, sorted."""
        found = (root / self.folder).rglob(self.pattern)
        return sorted(path for path in found if path.name not in self.without)


SOURCES: Final = {
    Area.P4: Sources(
        "p4src/include", "*.p4", lambda text: braced_changes.changes(text, braced_changes.P4)
    ),
    Area.TRAFFIC_MANAGER: Sources(
        "switch/crates/traffic-manager/src",
        "*.rs",
        lambda text: braced_changes.changes(text, braced_changes.RUST),
        frozenset({"tests.rs"}),
    ),
    Area.LAWS: Sources("control_plane/docsis_control/law", "*.py", python_changes.changes),
}


def area_of(file: str) -> Area:
    """The area that a file is of. ValueError: it is of none."""
    for area, sources in SOURCES.items():
        if file.startswith(f"{sources.folder}/"):
            return area
    raise ValueError(f"{file}: nothing there is mutated")


def sites(root: Path, area: Area) -> list[Site]:
    """All sites of an area, by file and then by place: the same for the same sources."""
    sources = SOURCES[area]
    found = []
    for path in sources.files(root):
        text = path.read_text()
        name = path.relative_to(root).as_posix()
        found += [located(name, text, change) for change in sources.changes(text)]
    return found
