# SPDX-License-Identifier: Apache-2.0
"""Arrays of parameters and of state, one element a service flow, for the laws to keep."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar, cast

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.management import QueueManagement

_Management = TypeVar("_Management", bound=QueueManagement)
_State = TypeVar("_State")


def floats(values: Iterable[float]) -> Floats:
    """An array of numbers."""
    return np.fromiter(values, np.float64)


def microseconds(nanoseconds: Iterable[int]) -> Ints:
    """An array of microseconds."""
    return np.fromiter(nanoseconds, np.int64) // 1000


def managements(flows: Sequence[ServiceFlow], kind: type[_Management]) -> list[_Management]:
    """The managements of service flows that all have one of that kind."""
    return [flow.management for flow in flows if isinstance(flow.management, kind)]


def take(state: Any, before: Any, here: Ints, there: Ints) -> None:
    """Copies elements of every array of a state that has just been made."""
    for field in fields(state):
        getattr(state, field.name)[here] = getattr(before, field.name)[there]


def where(chosen: Bools, one: _State, other: _State) -> _State:
    """The elements of one state where chosen, of the other elsewhere."""
    if chosen.all():
        return one
    kind: Any = type(one)
    return cast(
        _State,
        kind(
            *(
                np.where(chosen, getattr(one, field.name), getattr(other, field.name))
                for field in fields(kind)
            )
        ),
    )
