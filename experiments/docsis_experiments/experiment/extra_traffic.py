# SPDX-License-Identifier: Apache-2.0
"""Traffic from a file of its own, beside that of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError, Model
from docsis_control.config.schema import DIALECT
from docsis_control.config.units import format_duration
from docsis_control.config.yaml_file import Document, plain, read, validate
from docsis_control.modem_config.provisioned import Direction
from docsis_experiments.experiment.altered import altered
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Traffic, check_groups
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.kinds import KINDS


class TrafficFile(Model):
    """Traffic beside that of an experiment, in the words of experiments."""

    direction: Direction | None = Field(
        default=None, description="Which way it goes; the experiment's unless given."
    )
    traffic: Traffic


def json_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of a file of traffic."""
    schema = TrafficFile.model_json_schema()
    for kind in KINDS.values():
        # Python has a default for it, a file must say it.
        part = schema["$defs"][kind.__name__]
        part["required"] = sorted({"kind", *part.get("required", ())})
        del part["properties"]["kind"]["default"]
    return {"$schema": DIALECT, **schema}


def with_traffic(loaded: Loaded, file: Path) -> Loaded:
    """Returns the experiment with the traffic of a file beside its own.

    Args:
        loaded: The experiment and its topology.
        file: Has a `traffic` as experiments have it.

    Raises:
        ConfigError: With the file, the line and the key; the traffic is not possible, there or
            beside the experiment's.
    """
    document = read(file)
    extra = validate(document, TrafficFile, plain(document.root))
    scenario, topology = loaded.scenario, loaded.topology
    if extra.direction not in (None, *scenario.directions) or (
        extra.direction is not None and len(scenario.directions) > 1
    ):
        raise _problem(
            document,
            "direction",
            f"{scenario.name} goes {' and '.join(scenario.directions)}, and all traffic of a run "
            "goes one way; leave it out",
        )
    try:
        for index, group in enumerate(extra.traffic):
            if (group.start or 0) >= scenario.measured:
                raise KeyedError(
                    f"traffic.{index}.start",
                    f"is after the measured time of {format_duration(scenario.measured)}",
                )
        alone = scenario.model_copy(update={"traffic": extra.traffic})
        groups = resolved(alone, topology).traffic
        _fits_beside(scenario.traffic, groups)
    except KeyedError as error:
        raise _problem(document, error.key, str(error)) from None
    changed = altered(
        scenario,
        f"With the traffic of {file.name} beside it",
        traffic=(*scenario.traffic, *groups),
    )
    return Loaded(changed, topology)


def _fits_beside(own: tuple[Group, ...], extra: tuple[Group, ...]) -> None:
    """Raises KeyedError, with a key of the extra traffic, where the two cannot be together."""
    loading = [i for i, group in enumerate(extra) if Trace.SHARES in group.leaves()]
    if loading and any(Trace.SHARES in group.leaves() for group in own):
        raise KeyedError(
            f"traffic.{loading[0]}.kind",
            "the experiment's own traffic is in every service flow already; leave it out",
        )
    try:
        check_groups((*own, *extra))
    except KeyedError as error:
        index, _, key = error.key.partition(".")
        raise KeyedError(f"traffic.{int(index) - len(own)}.{key}", str(error)) from None


def _problem(document: Document, key: str, message: str) -> ConfigError:
    location = tuple(int(part) if part.isdigit() else part for part in key.split("."))
    return ConfigError([document.problem(location, message)])
