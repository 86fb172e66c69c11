# SPDX-License-Identifier: Apache-2.0
"""An exercise's topology.yaml: a switch, its hosts, and what a controller would have set."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from docsis_control.config import yaml_file
from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError, Model, NodeName
from docsis_control.config.units import ByteSize, DataRate
from docsis_control.ports import CPU_PORT
from docsis_control.topology.models import Device, Server
from docsis_testbed.errors import TestbedError


class LabHost(Server):
    """A host at a port of the switch. Half of its round trip is added in each direction."""

    port: int = Field(ge=1, le=254, description="Port of the switch.")


class Queue(Model):
    """A queue of the traffic manager, with a rate."""

    port: int = Field(ge=1, le=254, description="Port of the switch.")
    queue_id: int = Field(ge=1, lt=2**16, description="Which the program's field queue_id names.")
    rate: DataRate = Field(description="What leaves it.")
    limit: ByteSize = Field(description="What may wait in it.")
    sub_queues: int = Field(default=0, ge=0, le=256, description="Its parts, if there are any.")


class Entry(Model):
    """An entry of a table with exact keys."""

    table: str
    match: dict[str, int] = Field(default_factory=dict)
    action: str
    params: dict[str, int] = Field(default_factory=dict)


class Register(Model):
    """A value that a controller would have written."""

    name: str
    index: int = Field(default=0, ge=0)
    value: int = Field(ge=0)


class SwitchNetwork(Model):
    """One switch and its hosts."""

    name: NodeName
    switch: Device
    hosts: tuple[LabHost, ...] = Field(min_length=1, max_length=16, strict=False)
    queues: tuple[Queue, ...] = Field(default=(), strict=False)
    entries: tuple[Entry, ...] = Field(default=(), strict=False)
    registers: tuple[Register, ...] = Field(default=(), strict=False)
    inverse_square_roots: str | None = Field(
        default=None, description="Control whose table inv_sqrt is filled."
    )
    hint: str = Field(default="", description="What to type in Mininet: a command a line.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for key in ("name", "ip", "mac", "port"):
            values = [str(getattr(host, key)) for host in self.hosts]
            if len(set(values)) < len(values):
                raise KeyedError("hosts", f"two hosts have the same {key}")
        if any(host.name == self.switch.name for host in self.hosts):
            raise KeyedError("hosts", "a host has the switch's name")
        assert all(host.port != CPU_PORT for host in self.hosts), "ports end at 254"
        return self


def load(file: Path) -> SwitchNetwork:
    """Reads a topology.yaml.

    Raises:
        TestbedError: With the file, the line and the key.
    """
    try:
        document = yaml_file.read(file)
        return yaml_file.validate(document, SwitchNetwork, yaml_file.plain(document.root))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
