# SPDX-License-Identifier: Apache-2.0
"""Rules and measurements that tests of the judge make up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from docsis_experiments.reproduction.catalogue.bounds import Contradicted, Reproduced
from docsis_experiments.reproduction.catalogue.part import IntervalKind, Part, Role
from docsis_experiments.reproduction.catalogue.rule import Best, Kind, Reading, Rule
from docsis_experiments.reproduction.row import Seeds

NO_MAC = Reading(number=2, name="no-mac", known="K1", words="no MAC", without_mac=True)


def band(**bounds: float) -> Reproduced:
    """R."""
    return Reproduced(**bounds)


def beyond(**bounds: float) -> Contradicted:
    """C."""
    return Contradicted(**bounds)


def made_part(name: str = "a", **keys: object) -> Part:
    """A part with R 10-20, judged over seeds, unless told otherwise."""
    shown = keys.get("role") is Role.SHOWN
    default: dict[str, object] = {
        "name": name,
        "unit": "%" if keys.get("interval") is IntervalKind.SHARE else "ms",
        "interval": IntervalKind.SEEDS,
    }
    if not shown and "contains" not in keys:
        default["reproduced"] = Reproduced(at_least=10, at_most=20)
    return Part.model_validate({**default, **keys})


def made_rule(*parts: Part, **keys: object) -> Rule:
    """A rule of kind S with eight seeds and one other reading, unless told otherwise."""
    default: dict[str, object] = {
        "id": "001-A",
        "paper": "001",
        "kind": Kind.SHAPE,
        "mininet": False,
        "figure": "",
        "done": "",
        "published": "p",
        "rule": "r",
        "seeds": 8,
        "other_seeds": 4,
        "best": Best.REPRODUCED,
        "said_beforehand": "",
        "applies": (),
        "readings": (NO_MAC,),
        "parts": parts,
        "registered": date(2026, 11, 22),
    }
    return Rule.model_validate({**default, **keys})


def seeds(values: Sequence[float]) -> Seeds:
    """Gives the values to seeds 1, 2, 3 and so on."""
    return Seeds(dict(enumerate(values, 1)))


def around(value: float, spread: float = 0.1, how_many: int = 8) -> Seeds:
    """Values of that mean, half of them above and half below."""
    return seeds([value + spread * (1 if n % 2 else -1) for n in range(how_many)])
