# SPDX-License-Identifier: Apache-2.0
"""The suite's parameters: PTF's --test-params, checked and typed.

PTF hands over whatever was written as "key=value;key=value" in Python syntax.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Self

from docsis_control.project_files import ROOT
from docsis_ptf.shapers import DEFAULT

CONTROL_HEADER: Final = "control-header"
PROGRAMS: Final = ROOT / "p4src" / "build"


@dataclass(frozen=True)
class TestParams:
    """The target's address and wiring.

    Attributes:
        grpc: host:port of its P4Runtime server.
        device_id: P4Runtime device id.
        cpu_port: Its port of packet-in and packet-out; the programs expect 255.
        rf_port: The switch port that plays the RF interface.
        cpe_ports: Two more ports (a CMTS's network ports).
        target: A name for messages: "embedded", "bmv2" or one's own.
        seeded: Whether the target's random() repeats from run to run.
        programs: Folder with {cm,cmts}.json and {cm,cmts}.p4info.txtpb.
        batch: Frames that may be under way inside the target. BMv2's queues
            hold 64, so it is given 32.
        frames: How many frames a statistical test may inject.
        timeout: Seconds that an expected event may take.
        election_id: Election id of the suite's P4Runtime client.
        shaper: Name of the way in which the traffic manager is configured: see shapers.py.
        verdicts: File to which each test adds its verdict; none if empty.
        profiles: Known abilities of the target (profiles.py), each with the reason why it is
            missing, or nothing if it is there. The suite asks for the others.
    """

    # Not a test case, whatever its name suggests to a test loader.
    __test__ = False

    grpc: str = "127.0.0.1:9559"
    device_id: int = 1
    cpu_port: int = 255
    rf_port: int = 1
    cpe_ports: tuple[int, int] = (2, 3)
    target: str = "p4runtime"
    seeded: bool = False
    programs: str = str(PROGRAMS)
    batch: int = 32
    frames: int = 40_000
    timeout: float = 5.0
    election_id: int = 1
    shaper: str = DEFAULT
    verdicts: str = ""
    profiles: tuple[tuple[str, str], ...] = ()

    @property
    def lacking(self) -> dict[str, str]:
        """The reasons why the target lacks abilities, by ability; empty where it has one."""
        return dict(self.profiles)

    @classmethod
    def parse(cls, values: dict[str, Any] | None) -> Self:
        """Reads PTF's dictionary. ValueError: an unknown key or a value of another type."""
        known = {field.name: field for field in fields(cls)}
        given = dict(values or {})
        for key, value in given.items():
            if key not in known:
                raise ValueError(
                    f"--test-params: unknown key {key!r}; there are {', '.join(sorted(known))}"
                )
            default = known[key].default
            if not isinstance(value, type(default)) and not (
                isinstance(default, float) and isinstance(value, int)
            ):
                raise ValueError(
                    f"--test-params: {key}={value!r} is a {type(value).__name__},"
                    f" it must be a {type(default).__name__}"
                )
        return cls(**given)

    def text(self) -> str:
        """Returns the text that PTF's --test-params wants."""
        return ";".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
