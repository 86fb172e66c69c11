# SPDX-License-Identifier: Apache-2.0
"""Reads the explanations."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import Model
from docsis_control.config.yaml_file import plain, read, validate
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.reproduction.judge.verdict import Verdict

FOLDER: Final = Path(__file__).parent


class Grounds(StrEnum):
    """The grounds of an explanation."""

    SOURCE = "the source contradicts itself or theory"
    THEORY = "theory"
    ARITHMETIC = "arithmetic"
    SENSITIVITY = "a sensitivity run"
    DEFECT = "a defect of ours, mended since"
    OPEN = "not explained yet"


def _grounds(word: object) -> object:
    return (
        Grounds[word.upper()]
        if isinstance(word, str) and word.upper() in Grounds.__members__
        else word
    )


def _outcomes(words: object) -> object:
    found = as_tuple(words)
    known = {verdict.value for verdict in Verdict}
    if not isinstance(found, tuple) or not all(word in known for word in found):
        return found
    return tuple(map(Verdict, found))


class Explanation(Model):
    """Why a row came out as it did."""

    row: str = Field(pattern=r"^[0-9]{3}-[A-Za-z0-9-]{1,20}$", description='"001-F10b".')
    outcomes: Annotated[tuple[Verdict, ...], BeforeValidator(_outcomes)] = Field(
        description="It is shown while the row's outcome is one of these."
    )
    written: date
    grounds: Annotated[Grounds, BeforeValidator(_grounds)]
    says: str = Field(min_length=1, description="A paragraph.")
    evidence: str = Field(min_length=1, description="What was computed or run, and where.")


class Written(Model):
    """The explanations of a paper's rows."""

    explanations: Annotated[tuple[Explanation, ...], BeforeValidator(as_tuple)]


@functools.cache
def load_explanations(folder: Path = FOLDER) -> Mapping[str, Explanation]:
    """All explanations, by row; a process reads them once.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    found: dict[str, Explanation] = {}
    for file in sorted(folder.glob("*.yaml")):
        document = read(file)
        written = validate(document, Written, plain(document.root))
        for index, one in enumerate(written.explanations):
            place = ("explanations", index, "row")
            if one.row[:3] != file.stem:
                raise ConfigError([document.problem(place, f"{one.row} is no row of {file.stem}")])
            if one.row in found:
                raise ConfigError([document.problem(place, f"{one.row} is explained twice")])
            found[one.row] = one
    return found
