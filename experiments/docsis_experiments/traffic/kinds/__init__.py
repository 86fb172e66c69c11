# SPDX-License-Identifier: Apache-2.0
"""The kinds of traffic. To add one, add a file that has a `KIND`; nothing else has to know of it.

Every module of this package is a kind: a `Group` with the keys that a file may give it, which says
what its flows send, composed of what both stages offer (`traffic/senders.py`). Files of
experiments, their JSON Schema, plans and both stages have what is here.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BeforeValidator, Field

from docsis_experiments.declared import declared
from docsis_experiments.experiment.tagged import chosen_by
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.traffic.group import Group


def _all() -> dict[str, type[Group]]:
    found = list(declared(__name__, __path__, "KIND"))
    for kind in found:
        if not (isinstance(kind, type) and issubclass(kind, Group) and hasattr(kind, "senders")):
            raise TypeError(f"a KIND of {__name__} is no Group that says what it sends: {kind!r}")
    by_name = {kind.model_fields["kind"].default: kind for kind in found}
    if len(by_name) < len(found) or len({kind.__name__ for kind in found}) < len(found):
        raise TypeError(f"two kinds of {__name__} have the same name")
    return by_name


KINDS: Final[Mapping[str, type[Group]]] = _all()
"""By the names that files have for them."""

if TYPE_CHECKING:
    AnyGroup = Group
else:
    AnyGroup = Annotated[
        functools.reduce(operator.or_, KINDS.values()),
        Field(discriminator="kind"),
        BeforeValidator(chosen_by("kind", *KINDS.values())),
    ]
    """A group of any kind, for models of files."""


def kinds_that_leave(*traces: Trace) -> str:
    """Kinds of which a run's record has one of these, in words."""
    wanted = frozenset(traces)
    return " or ".join(name for name, kind in KINDS.items() if wanted & kind.leaves())
