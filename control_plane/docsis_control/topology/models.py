# SPDX-License-Identifier: Apache-2.0
"""Models of a topology: the two switches, the modems, what is behind them and behind the CMTS."""

from collections.abc import Mapping
from ipaddress import IPv4Interface
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, PlainSerializer, field_validator, model_validator

from docsis_control.config.models import (
    HostAddress,
    KeyedError,
    MacAddress,
    Model,
    NodeName,
    ServiceTier,
)
from docsis_control.config.units import Duration, Share
from docsis_control.config.yaml_file import plain
from docsis_control.framing import Framing
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.file import to_plain
from docsis_control.modem_config.provisioned import Direction
from docsis_control.modem_config.rules import Limits
from docsis_control.modem_config.service_classes import ServiceClasses
from docsis_control.ports import MOST_HOSTS
from docsis_control.topology.channels import SHARED, ChannelRates, spread
from docsis_control.topology.downstream import shared_queue_bytes
from docsis_control.topology.elsewhere import LINKS
from docsis_control.topology.upstream_channels import MOST_CHANNELS, UpstreamChannel

GRPC_BASE_PORT: Final = 50050
"""A device without `grpc_port` listens on this plus its device_id."""


class Device(Model):
    """A P4 switch of the topology."""

    elsewhere: ClassVar[Mapping[str, str]] = LINKS

    name: NodeName = Field(description="Name of the node.")
    device_id: int = Field(ge=0, lt=2**64, description="P4Runtime device id.")
    grpc_port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="TCP port of its P4Runtime server, at 127.0.0.1, instead of a Unix socket.",
    )

    @property
    def server_port(self) -> int:
        """The TCP port of the device's P4Runtime server."""
        return GRPC_BASE_PORT + self.device_id if self.grpc_port is None else self.grpc_port

    @model_validator(mode="after")
    def _port_in_range(self) -> Self:
        if self.server_port > 65535:
            raise KeyedError(
                "grpc_port", f"device_id {self.device_id} needs a grpc_port of its own"
            )
        return self


LONGEST_JITTER: Final = 10_000_000_000
"""Nanoseconds."""


class Link(Model):
    """Loss and jitter of a link, in each of its two directions by itself."""

    loss: Share = Field(
        default=0, description="Share of the frames that it loses, each drawn by itself."
    )
    jitter: Duration = Field(
        default=0,
        description="Each frame takes up to so much longer, drawn uniformly; frames keep their "
        "order.",
    )

    @property
    def impairs(self) -> bool:
        """Whether it does anything to frames."""
        return bool(self.loss or self.jitter)

    @field_validator("jitter")
    @classmethod
    def _bearable(cls, value: int) -> int:
        if value > LONGEST_JITTER:
            raise ValueError("a jitter must be at most 10 s")
        return value


class Host(Model):
    """A host behind a cable modem (CPE)."""

    name: NodeName = Field(description="Name of the node.")
    ip: HostAddress = Field(description="IPv4 address with its prefix.")
    mac: MacAddress = Field(description="MAC address of its interface.")
    link: Link | None = Field(
        default=None, description="Loss and jitter of its link; neither unless given."
    )


class Server(Host):
    """A host on the network side of the CMTS."""

    round_trip_time: Duration = Field(
        default=0,
        description="Propagation delay added to the path back from it; none unless given.",
    )

    @field_validator("round_trip_time")
    @classmethod
    def _bearable(cls, value: int) -> int:
        if value > 10_000_000_000:
            raise ValueError("a round-trip time must be at most 10 s")
        return value


ConfigurationFile = Annotated[
    ModemConfiguration,
    PlainSerializer(lambda value: plain(to_plain(value)), return_type=dict[str, Any]),
]


class CableModem(Model):
    """A cable modem: its configuration and the hosts behind it."""

    elsewhere: ClassVar[Mapping[str, str]] = LINKS

    name: NodeName = Field(description="Name of the modem.")
    configuration: ConfigurationFile | None = Field(
        default=None,
        description=(
            "Its configuration file: the name of a binary file (.cfg) or a YAML file (.yaml), "
            "relative to this file."
        ),
    )
    tier: ServiceTier | None = Field(
        default=None,
        description="Its service tier where it has no configuration file; the topology's if none.",
    )
    service_flows: int = Field(
        default=Limits.service_flows,
        ge=2,
        le=63,
        description="Service flows that it has room for in each direction.",
    )
    classifiers: int = Field(
        default=Limits.classifiers,
        ge=1,
        le=64,
        description="Classifiers that it has room for in each direction.",
    )
    upstream_channel: str | None = Field(
        default=None,
        description="Its upstream channel, of several; that with the fewest modems unless given.",
    )
    hosts: tuple[Host, ...] = Field(description="Hosts behind it, in the order of its ports.")

    @field_validator("hosts", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("hosts")
    @classmethod
    def _not_empty(cls, value: tuple[Host, ...]) -> tuple[Host, ...]:
        if not value:
            raise ValueError("is empty; name at least one host")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.configuration is not None and self.tier is not None:
            raise KeyedError("tier", "stands beside a configuration; keep one of them")
        return self

    @property
    def limits(self) -> Limits:
        """The room that it has for service flows and classifiers."""
        return Limits(self.service_flows, self.classifiers)


class Topology(Model):
    """Cable modems, their CMTS, hosts behind the ones and servers behind the other."""

    elsewhere: ClassVar[Mapping[str, str]] = LINKS

    name: str = Field(description="Name of the topology.")
    description: str = Field(default="", description="One line for people.")
    tier: ServiceTier | None = Field(
        default=None,
        description=(
            "Service tier of the modems that have nothing of their own: the name of a file, "
            "without .yaml, in tiers/ beside this file or else in topologies/tiers/ of the project."
        ),
    )
    channel: ChannelRates | None = Field(
        default=None,
        description="Rates that the modems share; each direction has the link's rate unless given.",
    )
    upstream_channels: tuple[UpstreamChannel, ...] | None = Field(
        default=None,
        description="Upstream channels with a request/grant MAC; without, modems send as if the "
        "channel were theirs.",
    )
    service_classes: ServiceClasses | None = Field(
        default=None,
        description="Service classes of the CMTS: a YAML file, relative to this file.",
    )
    cable_modem: Device = Field(description="The switch that runs the modems.")
    cmts: Device = Field(description="The switch that runs the CMTS.")
    modems: tuple[CableModem, ...] = Field(
        description="The modems; their hosts have the switch's ports 2, 3, ... in this order, "
        "without 255."
    )
    servers: tuple[Server, ...] = Field(
        description="Hosts behind the CMTS; its ports 2, 3, ... without 255."
    )

    @field_validator("modems", "servers", "upstream_channels", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("servers")
    @classmethod
    def _some_servers(cls, value: tuple[Server, ...]) -> tuple[Server, ...]:
        if not value:
            raise ValueError("is empty; name at least one host")
        if len(value) > MOST_HOSTS:
            raise ValueError(f"has {len(value)} entries; a device has ports for {MOST_HOSTS}")
        return value

    @field_validator("modems")
    @classmethod
    def _some_modems(cls, value: tuple[CableModem, ...]) -> tuple[CableModem, ...]:
        if not value:
            raise ValueError("is empty; name at least one modem")
        hosts = sum(len(modem.hosts) for modem in value)
        if hosts > MOST_HOSTS:
            raise ValueError(
                f"has {len(value)} entries with {hosts} hosts; a device has ports for {MOST_HOSTS}"
            )
        names: set[str] = set()
        for index, modem in enumerate(value):
            if modem.name in names:
                raise KeyedError(f"{index}.name", f"{modem.name}: another modem has that name")
            names.add(modem.name)
        return value

    @model_validator(mode="after")
    def _each_has_a_service(self) -> Self:
        for modem in self.modems:
            if modem.configuration is None and modem.tier is None and self.tier is None:
                raise KeyedError(
                    "tier",
                    f"is missing, and the modem {modem.name} has neither a tier nor a "
                    "configuration of its own",
                )
        return self

    @field_validator("upstream_channels")
    @classmethod
    def _some_channels(
        cls, value: tuple[UpstreamChannel, ...] | None
    ) -> tuple[UpstreamChannel, ...] | None:
        if value is not None and not 1 <= len(value) <= MOST_CHANNELS:
            raise ValueError(f"has {len(value)} entries; there may be 1 to {MOST_CHANNELS}")
        names: set[str] = set()
        for index, channel in enumerate(value or ()):
            if channel.name in names:
                raise KeyedError(f"{index}.name", f"{channel.name}: another channel has that name")
            names.add(channel.name)
        return value

    @model_validator(mode="after")
    def _channels_go_together(self) -> Self:
        names = [channel.name for channel in self.upstream_channels or ()]
        for index, modem in enumerate(self.modems):
            if modem.upstream_channel is not None and modem.upstream_channel not in names:
                raise KeyedError(
                    f"modems.{index}.upstream_channel",
                    f'there is no upstream channel "{modem.upstream_channel}"; there are '
                    f"{', '.join(names) or 'none'}",
                )
        if self.channel is None:
            return self
        if names and self.channel.upstream is not None:
            raise KeyedError(
                "channel.upstream",
                "stands beside upstream channels, which have rates of their own; leave it out",
            )
        if not names and self.channel.map_traffic is not None:
            raise KeyedError(
                "channel.map_traffic",
                "stands without upstream channels, and only their CMTS makes MAPs; leave it out, "
                "or name an upstream_channel",
            )
        if not names and self.channel.upstream is None:
            raise KeyedError("channel.upstream", "is missing: Capacity from all modems to the CMTS")
        return self

    @model_validator(mode="after")
    def _has_a_port_to_spare(self) -> Self:
        if self.shares_downstream and len(self.servers) > MOST_HOSTS - 1:
            raise KeyedError(
                "channel.downstream_queues",
                f"takes one of the CMTS's ports, and there are {len(self.servers)} servers; with "
                f"it there may be {MOST_HOSTS - 1}",
            )
        return self

    @model_validator(mode="after")
    def _unique(self) -> Self:
        places = self._places()
        for key in ("name", "mac", "ip", "device_id", "server_port"):
            seen: dict[object, str] = {}
            for place, node in places:
                value = getattr(node, key, None)
                if value is None:
                    continue
                identity = value.ip if isinstance(value, IPv4Interface) else value
                if identity in seen:
                    shown = "grpc_port" if key == "server_port" else key
                    raise KeyedError(
                        f"{place}.{shown}", f"{identity} is already taken by {seen[identity]}"
                    )
                seen[identity] = f"the {type(node).__name__.lower()} {node.name}"
        first = self.hosts[0].ip.network
        for place, node in places:
            if isinstance(node, Host) and node.ip.network != first:
                raise KeyedError(
                    f"{place}.ip",
                    f"{node.ip} is not in the network {first} of the first host; modems and CMTS "
                    "are bridges, so all hosts share one network",
                )
        return self

    def _places(self) -> list[tuple[str, Device | Host]]:
        """Every node with its key."""
        places: list[tuple[str, Device | Host]] = [
            ("cable_modem", self.cable_modem),
            ("cmts", self.cmts),
        ]
        for number, modem in enumerate(self.modems):
            places += [
                (f"modems.{number}.hosts.{index}", host) for index, host in enumerate(modem.hosts)
            ]
        places += [(f"servers.{index}", host) for index, host in enumerate(self.servers)]
        return places

    @property
    def channel_of(self) -> Mapping[str, UpstreamChannel]:
        """The upstream channel of each modem, by the modem's name; empty where there is none."""
        wanted = tuple((modem.name, modem.upstream_channel) for modem in self.modems)
        return spread(self.upstream_channels or (), wanted)

    def channel_rate(self, direction: Direction, modem: str) -> int | None:
        """bit/s of the channel that a modem is on; None where nothing limits it but the link.

        Args:
            modem: The modem's name.
        """
        if direction == "upstream" and self.upstream_channels:
            return self.channel_of[modem].numbers.data_rate
        if self.channel is None:
            return None
        return self.channel.upstream if direction == "upstream" else self.channel.downstream

    def framing(self, device: Device) -> Framing | None:
        """The framing of the frames that a device sends over the cable; None: there is none."""
        if device != self.cmts or self.channel is None:
            return None
        written = self.channel.downstream_framing
        return written.framing if written else None

    @property
    def shares_downstream(self) -> bool:
        """Whether one queue serves all downstream service flows."""
        return self.channel is not None and self.channel.downstream_queues == SHARED

    @property
    def shared_buffer(self) -> int:
        """Bytes that the one downstream queue holds, where its queue manager says nothing of it."""
        assert self.channel is not None, "only a channel has one"
        return shared_queue_bytes(self.channel.downstream, self.channel.downstream_queue)

    @property
    def upstream_rate(self) -> int | None:
        """bit/s of all modems together; None where nothing limits them but the link."""
        if self.upstream_channels:
            return sum(channel.numbers.data_rate for channel in self.upstream_channels)
        return self.channel.upstream if self.channel else None

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts behind all modems, in the order of the switch's ports."""
        return tuple(host for modem in self.modems for host in modem.hosts)

    @property
    def nodes(self) -> tuple[Host, ...]:
        """All hosts and servers, hosts first."""
        return (*self.hosts, *self.servers)

    @property
    def services(self) -> str:
        """The name of the tier, or "own" where the modems have services of their own."""
        return self.tier.name if self.tier else "own"

    def tier_of(self, modem: CableModem) -> ServiceTier | None:
        """The tier of a modem; None where it has a configuration."""
        return None if modem.configuration is not None else modem.tier or self.tier

    def modem(self, name: str) -> CableModem:
        """The modem of that name.

        Raises:
            KeyError: There is none; the message names those that exist.
        """
        by_name: Mapping[str, CableModem] = {modem.name: modem for modem in self.modems}
        if name not in by_name:
            raise KeyError(
                f'the topology "{self.name}" has no modem "{name}"; it has {", ".join(by_name)}'
            )
        return by_name[name]

    def node(self, name: str) -> Host:
        """The host or server of that name.

        Raises:
            KeyError: There is none; the message names those that exist.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise KeyError(f'the topology "{self.name}" has no host "{name}"; it has {known}')
