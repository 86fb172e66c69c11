# SPDX-License-Identifier: Apache-2.0
"""Asks the switches of a testbed how late they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.visits import Visits
from docsis_control.tm.client import TrafficManager
from docsis_control.tm.lateness import Lateness
from docsis_control.topology.models import Device
from docsis_experiments.measurement.timing import Timing
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError

Answers = Mapping[str, Lateness | None]
"""The lateness of each switch by its name; None of one that does not tell it."""


class LatenessReader:
    """Reads the lateness of some devices.

    Args:
        addresses: host:port or unix:PATH of its P4Runtime server and P4Runtime device id, by name.
    """

    def __init__(self, addresses: Mapping[str, tuple[str, int]]) -> None:
        self._asked = {
            name: TrafficManager(LocalDevice(Visits(address), name, device_id))
            for name, (address, device_id) in addresses.items()
        }

    def read(self) -> Answers:
        """Reads the lateness of each switch since its start.

        Raises:
            TestbedError: One does not answer.
        """
        return {name: self._one(name, asked) for name, asked in self._asked.items()}

    def since(self, before: Answers) -> Timing:
        """How late they were since an earlier answer.

        Raises:
            TestbedError: One does not answer, or was started again in between.
        """
        late: dict[str, Lateness | None] = {}
        for name, now in self.read().items():
            then = before[name]
            try:
                late[name] = None if now is None or then is None else now.since(then)
            except ValueError as error:
                raise TestbedError(f"{name}: {error}; its log may say why") from None
        return Timing(late)

    @staticmethod
    def _one(name: str, asked: TrafficManager) -> Lateness | None:
        try:
            return completed(asked.lateness())
        except (ConnectionLost, P4RuntimeError) as error:
            raise TestbedError(
                f"{name} does not tell how late it is ({error}); its log in the results' folder "
                "may say why"
            ) from None


def lateness_of(devices: Sequence[Device], target: str = "embedded") -> LatenessReader:
    """A reader of the lateness of devices, which are targets of that name."""
    return LatenessReader({d.name: (device_address(d, target), d.device_id) for d in devices})
