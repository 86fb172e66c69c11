# SPDX-License-Identifier: Apache-2.0
"""The queue managers that there are: the modules of `managers` that `names` has a member for."""

import functools
from collections.abc import Mapping
from operator import or_
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, cast

from pydantic import Field, TypeAdapter

from docsis_control.queue_managers import managers
from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset, QueueManager


class _Module(Protocol):
    """A module of `managers`."""

    MODEL: type[QueueManagement]
    PRESETS: Mapping[Preset, Described]


def registered(there: Mapping[str, ModuleType]) -> Mapping[QueueManager, _Module]:
    """The module of each queue manager.

    Args:
        there: The modules of `managers`, by name.

    Raises:
        ImportError: A queue manager is registered without a module, or the other way round.
    """
    wanted = {manager.name.lower(): manager for manager in QueueManager}
    for name in sorted(wanted.keys() ^ there.keys()):
        raise ImportError(
            f"the queue manager {name} is in names.py and has no module managers/{name}.py"
            if name in wanted
            else f"managers/{name}.py belongs to no queue manager: register {name.upper()} in "
            "p4src/include/queue_managers.p4 and run `make tables`"
        )
    return {manager: cast(_Module, there[name]) for name, manager in wanted.items()}


_MODULES: Final = registered(managers.modules())

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
