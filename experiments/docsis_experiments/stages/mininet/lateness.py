# SPDX-License-Identifier: Apache-2.0
"""Asks the switches of a testbed how late they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import grpc

from docsis_control.p4rt.channel import channel_options
from docsis_control.tm.lateness import METHOD, Lateness, lateness_from, request
from docsis_control.topology.models import Device
from docsis_experiments.measurement.timing import Timing
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError

_TIMEOUT_SECONDS: Final = 5.0

Answers = Mapping[str, Lateness | None]
"""By name of the switch; None of one that does not tell."""


class LatenessReader:
    """Reads the lateness of some devices.

    Args:
        addresses: host:port of its P4Runtime server and P4Runtime device id, by name.
    """

    def __init__(self, addresses: Mapping[str, tuple[str, int]]) -> None:
        self._asked: dict[str, tuple[Any, Any, bytes]] = {}
        for name, (address, device_id) in addresses.items():
            channel = grpc.insecure_channel(address, options=channel_options())
            # In and out as bytes: docsis_control.tm.lateness knows the messages.
            ask = channel.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
            self._asked[name] = (channel, ask, request(device_id))

    def read(self) -> Answers:
        """What each has counted since it was started.

        Raises:
            TestbedError: One does not answer.
        """
        return {name: self._one(name, ask, what) for name, (_, ask, what) in self._asked.items()}

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

    def close(self) -> None:
        """End the connections."""
        for channel, _, _ in self._asked.values():
            channel.close()

    @staticmethod
    def _one(name: str, ask: Any, what: bytes) -> Lateness | None:
        try:
            return lateness_from(ask(what, timeout=_TIMEOUT_SECONDS))
        except grpc.RpcError as error:
            code = getattr(error, "code", lambda: "no code")()
            if code is grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise TestbedError(
                f"{name} does not tell how late it is ({code}); its log in the results' folder "
                "may say why"
            ) from None


@contextmanager
def lateness_of(devices: Sequence[Device]) -> Iterator[LatenessReader]:
    """A reader of the devices' lateness, closed at the end of the block."""
    reader = LatenessReader({d.name: (device_address(d), d.device_id) for d in devices})
    try:
        yield reader
    finally:
        reader.close()
