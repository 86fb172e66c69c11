# SPDX-License-Identifier: Apache-2.0
"""The way to a device for whoever asks it something now and then, beside its primary controller."""

from contextlib import closing

from docsis_control.http2 import Calls
from docsis_control.p4rt.device import RPC_TIMEOUT


class Visits:
    """See `docsis_control.p4rt.device.Entrance`; each call has a connection of its own.

    Whoever visits is no primary controller, so he takes nothing from the one that is, and may do
    what takes no election: read, and configure the traffic manager. One that lies idle in between
    would be closed by the server. Several threads may call at once.
    """

    def __init__(self, address: str, seconds: float = RPC_TIMEOUT) -> None:
        """Args: host:port or unix:PATH of the device's server, and how long a call may take."""
        self._address = address
        self._seconds = seconds

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Sends a serialized message; returns the serialized messages of the answer.

        Raises:
            Failed: The server answered with a failure.
            Broken: There is no way to it, or no answer in time.
        """
        with closing(Calls(self._address, self._seconds)) as calls:
            return calls.call(method, request)
