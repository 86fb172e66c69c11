# SPDX-License-Identifier: Apache-2.0
"""The list of all sites: a table of text with a line a site, and the digests of the sources.

It is made before anything is drawn, and committed, so that nobody can choose what is mutated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_mutants.areas import SOURCES, Area, sites
from docsis_mutants.site import Operator, Site

LIST: Final = Path(__file__).with_name("sites.tsv")
_SOURCE: Final = "source"
_HEAD: Final = (
    "# All sites of mutants; `make mutant-list` writes them anew. See docs/explanation/mutants.md"
)
_COLUMNS: Final = ("file", "line", "column", "operator", "before", "after", "digest")


class ListError(ValueError):
    """A list that is not one, or not of these sources; the message says what to do."""


@dataclass(frozen=True)
class Listing:
    """The sites, and what they were found in.

    Attributes:
        sources: SHA-256 of each source file, by its path from the root.
        sites: In the order of the list.
    """

    sources: Mapping[str, str]
    sites: Sequence[Site]

    def require_current(self, root: Path) -> None:
        """Refuses sources that the list was not made from.

        Raises:
            ListError: One of them changed, is new or is gone.
        """
        now = _digests(root)
        for name in sorted({*now, *self.sources}):
            if now.get(name) != self.sources.get(name):
                raise ListError(
                    f"{name} is not as it was when the list of mutants was made; run "
                    "`make mutant-list`, and commit the list before anything is drawn from it"
                )


def _digests(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for area in Area
        for path in SOURCES[area].files(root)
    }


def made_from(root: Path) -> Listing:
    """The list of the sources below a root."""
    return Listing(_digests(root), [site for area in Area for site in sites(root, area)])


def text_of(listing: Listing) -> str:
    """The list as a file has it."""
    lines = [_HEAD]
    lines += [f"{_SOURCE}\t{name}\t{digest}" for name, digest in sorted(listing.sources.items())]
    lines.append("\t".join(_COLUMNS))
    for site in listing.sites:
        cells = (
            *(site.file, str(site.line), str(site.column), site.operator.value),
            *(_escaped(site.before), _escaped(site.after), site.digest),
        )
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def parse(text: str) -> Listing:
    """The list that a file has. ListError: it is not one."""
    digests: dict[str, str] = {}
    found: list[Site] = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split("\t")
        try:
            if line.startswith("#") or tuple(cells) == _COLUMNS:
                continue
            if cells[0] == _SOURCE:
                _, name, digest = cells
                digests[name] = digest
                continue
            file, row, column, operator, before, after, digest = cells
            found.append(
                Site(
                    file,
                    int(row),
                    int(column),
                    Operator(operator),
                    _plain(before),
                    _plain(after),
                    digest,
                )
            )
        except ValueError as error:
            raise ListError(f"line {number} of the list of mutants: {error}") from None
    return Listing(digests, found)


def load(path: Path = LIST) -> Listing:
    """The list that is kept. ListError: it is not there, or damaged."""
    try:
        return parse(path.read_text())
    except OSError as error:
        raise ListError(f"{path}: {error.strerror}; run `make mutant-list`") from None


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _plain(text: str) -> str:
    kept = "\0"  # no source has it
    text = text.replace("\\\\", kept).replace("\\n", "\n").replace("\\t", "\t")
    return text.replace(kept, "\\")
