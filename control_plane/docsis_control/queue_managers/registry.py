# SPDX-License-Identifier: Apache-2.0
"""The queue managers that there are: the modules of `managers` that `names` registers."""

import functools
from collections.abc import Mapping
from importlib import import_module
from operator import or_
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, cast

from pydantic import Field, TypeAdapter

from docsis_control.queue_managers import managers
from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset, QueueManager


class _Module(Protocol):
    """A module of `managers`."""

    MODEL: type[QueueManagement]
    PRESETS: Mapping[Preset, Described]


def _module(manager: QueueManager) -> _Module:
    return cast(_Module, import_module(f"{managers.__name__}.{manager.name.lower()}"))


_MODULES: Final = {manager: _module(manager) for manager in QueueManager}

MODELS: Final[Mapping[QueueManager, type[QueueManagement]]] = MappingProxyType(
    {manager: module.MODEL for manager, module in _MODULES.items()}
)
"""The models by their number in the pipeline."""

ALGORITHMS: Final[Mapping[str, type[QueueManagement]]] = MappingProxyType(
    {manager.label: model for manager, model in MODELS.items()}
)
"""The models by the value of `algorithm` in a file."""

_FOUND: Final = {
    preset: described
    for module in _MODULES.values()
    for preset, described in module.PRESETS.items()
}

DESCRIBED: Final[Mapping[Preset, Described]] = MappingProxyType(
    {preset: _FOUND[preset] for preset in Preset}
)
"""The presets, in the order of their names' registration."""

if TYPE_CHECKING:
    AnyManagement = QueueManagement
else:
    AnyManagement = Annotated[
        functools.reduce(or_, MODELS.values()), Field(discriminator="algorithm")
    ]
"""A queue management as a field of a model: one of those that there are."""

ADAPTER: Final[TypeAdapter[QueueManagement]] = TypeAdapter(cast(Any, AnyManagement))
"""Reads any queue management."""
