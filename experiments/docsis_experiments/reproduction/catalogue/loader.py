# SPDX-License-Identifier: Apache-2.0
"""Reads the registered rules."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError, Problem
from docsis_control.config.yaml_file import Document, plain, read, validate
from docsis_experiments.reproduction.catalogue.registry import (
    HASHES,
    fault,
    gone,
    read_hashes,
)
from docsis_experiments.reproduction.catalogue.rule import Rule
from docsis_experiments.reproduction.catalogue.written import Paper

FOLDER: Final = Path(__file__).parent

PAPERS: Final = ("000", "001", "002", "003", "004")


@dataclass(frozen=True)
class Catalogue:
    """All rules.

    Attributes:
        papers: By number, in their order.
        rules: By id, in the order of the catalogue.
    """

    papers: Mapping[str, Paper]
    rules: Mapping[str, Rule]


def load_paper(file: Path) -> Paper:
    """Read the rules of one paper.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    return _paper(read(file))


def load_catalogue(folder: Path = FOLDER, hashes: Path | None = None) -> Catalogue:
    """Read all rules, and hold them against the hashes that they are registered with.

    Args:
        folder: Where the papers' files are.
        hashes: The registry; the folder's unless given.

    Raises:
        ConfigError: With the file, the line and the key; also where a rule was changed and does
            not say so, or is no longer there.
    """
    registered = read_hashes(hashes or folder / HASHES.name)
    papers: dict[str, Paper] = {}
    rules: dict[str, Rule] = {}
    for number in PAPERS:
        document = read(folder / f"{number}.yaml")
        paper = _paper(document)
        papers[number] = paper
        if said := fault(paper.paper, paper.hash, paper.amended, registered):
            raise ConfigError([document.problem(("setting",), said)])
        for index, rule in enumerate(paper.written_out()):
            if said := fault(rule.id, rule.hash, rule.amended, registered):
                raise ConfigError([document.problem(("rules", index, "id"), f"{rule.id} {said}")])
            rules[rule.id] = rule
    if missing := gone((*papers, *rules), registered):
        raise ConfigError(
            [Problem(folder, 0, missing[0], "is registered, and is in none of the files")]
        )
    return Catalogue(papers, rules)


@functools.cache
def registered_rules() -> Mapping[str, Rule]:
    """The rules of this folder by id, in order; a process reads them once, as that takes seconds.

    Raises:
        ConfigError: As `load_catalogue` does, each time.
    """
    return load_catalogue().rules


def _paper(document: Document) -> Paper:
    paper = validate(document, Paper, plain(document.root))
    if document.file.stem != paper.paper:
        raise ConfigError(
            [
                document.problem(
                    ("paper",), f'"{paper.paper}" must be the file\'s name, "{document.file.stem}"'
                )
            ]
        )
    return paper
