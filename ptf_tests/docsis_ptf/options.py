# SPDX-License-Identifier: Apache-2.0
"""The options of a run of the suite, and the command line that sets them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docsis_control.digits import LAST_TCP_PORT, decimal
from docsis_control.p4rt.device import LAST_ELECTION_ID
from docsis_ptf import switches
from docsis_ptf.params import TestParams
from docsis_ptf.shapers import BMV2, DEFAULT

_DEFAULTS = TestParams()
_LAST_SWITCH_PORT: Final = (1 << 32) - 1
"""P4Runtime's ports are numbers of 32 bits, however few of them a switch uses."""


@dataclass(frozen=True)
class Options:
    """The options of a run: what to test, and on what.

    Attributes:
        target: "embedded", "bmv2", or host:port of a running P4Runtime server.
        tests: The selection (selection.py); all tests by default.
        ports: A running target's ports: the interface at the other end of each, the first the RF
            port, then two others.
        device_id, election_id: P4Runtime's.
        seed: Seed of the tests' random numbers, and of a switch that takes one.
        programs: Folder with {cm,cmts}.json and {cm,cmts}.p4info.txtpb; p4src/build by default.
        shaper: Name of the way in which the traffic manager is configured (shapers.py); None:
            docsis.tm.v1, and for a BMv2 that the runner starts its Thrift server.
        timeout: Seconds that an expected event may take.
        results: Folder for the logs and the verdicts; results/ptf/TARGET by default, and
            results/ptf/target for HOST:PORT.
    """

    target: str = switches.EMBEDDED
    tests: Sequence[str] = ()
    ports: Mapping[int, str] = field(default_factory=dict)
    device_id: int = _DEFAULTS.device_id
    election_id: int = _DEFAULTS.election_id
    seed: int = 1
    programs: Path | None = None
    shaper: str | None = None
    timeout: float = _DEFAULTS.timeout
    results: Path | None = None

    @property
    def own(self) -> bool:
        """Whether the runner starts the switch itself."""
        return self.target in (switches.EMBEDDED, switches.BMV2)

    def params(self) -> TestParams:
        """The parameters of the tests. ValueError: a value is not possible."""
        if self.own:
            if self.ports:
                raise ValueError(
                    f"--port has no place here: the runner starts the {self.target} switch itself,"
                    " with ports of its own; to test a switch that runs already, give --target"
                    " HOST:PORT, too"
                )
            params = switches.params_for(self.target)
        else:
            host, _, port = self.target.rpartition(":")
            if not host or not decimal(port, LAST_TCP_PORT):
                raise ValueError(f"target {self.target!r}: neither embedded, bmv2 nor HOST:PORT")
            if ":" in host and not (host.startswith("[") and host.endswith("]")):
                raise ValueError(
                    f"target {self.target!r}: an IPv6 address needs brackets: [{host}]:{port}"
                )
            params = TestParams(grpc=self.target, target=self.target)
        values: dict[str, object] = {
            "device_id": self.device_id,
            "election_id": self.election_id,
            "timeout": self.timeout,
        }
        if self.shaper is not None:
            values["shaper"] = self.shaper
        if self.programs is not None:
            values["programs"] = str(self.programs.resolve())
        if not self.own and len(self.ports) == len((params.rf_port, *params.cpe_ports)):
            values["rf_port"], *others = self.ports
            values["cpe_ports"] = tuple(others)
        return TestParams.parse({**vars(params), **values})


def _port(text: str) -> tuple[int, str]:
    digits, _, interface = text.partition("=")
    port = decimal(digits, _LAST_SWITCH_PORT)
    if port is None or not interface:
        raise ValueError(f"--port {text!r}: a port is NUMBER=INTERFACE, such as 1=veth1")
    return port, interface


def parser() -> argparse.ArgumentParser:
    """The command line of docsis_ptf.runner."""
    found = argparse.ArgumentParser(prog="docsis-p4 ptf", description="The PTF conformance suite.")
    add = found.add_argument
    add("--target", default=switches.EMBEDDED, metavar="embedded|bmv2|HOST:PORT")
    add("--port", action="append", default=[], metavar="NUMBER=IF")
    add("--device-id", type=int, default=_DEFAULTS.device_id)
    add("--election-id", type=int, default=_DEFAULTS.election_id)
    add("--seed", type=int, default=1)
    add("--programs", type=Path, metavar="FOLDER")
    add("--shaper", metavar=f"{DEFAULT}|{BMV2}=HOST:PORT|MODULE:CLASS=ARG")
    add("--timeout", type=float, default=_DEFAULTS.timeout, metavar="SECONDS")
    add("--results", type=Path, metavar="FOLDER")
    add("--list", action="store_true", help="only print the tests that are selected")
    add("--sandbox", help=argparse.SUPPRESS)
    add("tests", nargs="*", help="tests, modules, needs or requirements; ^ leaves out")
    return found


def options(arguments: argparse.Namespace) -> Options:
    """The command line, checked. ValueError: a value is not possible."""
    ports = dict(_port(text) for text in arguments.port)
    if len(ports) != len(arguments.port):
        raise ValueError("--port: a port number is there twice")
    # Written so that nan is refused, too.
    if not 0 < arguments.timeout < math.inf:
        raise ValueError(
            f"--timeout {arguments.timeout:g}: it has to be a number of seconds above 0"
        )
    if not 1 <= arguments.election_id <= LAST_ELECTION_ID:
        raise ValueError(
            f"--election-id {arguments.election_id}: P4Runtime has election ids from 1 to"
            f" {LAST_ELECTION_ID} (2^128 - 1)"
        )
    return Options(
        target=arguments.target,
        tests=tuple(arguments.tests),
        ports=ports,
        device_id=arguments.device_id,
        election_id=arguments.election_id,
        seed=arguments.seed,
        programs=arguments.programs,
        shaper=arguments.shaper,
        timeout=arguments.timeout,
        results=arguments.results,
    )
