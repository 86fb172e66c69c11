# SPDX-License-Identifier: Apache-2.0
"""The peers that download: samples of the payload that each upload has brought."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import IO

from docsis_experiments.stages.mininet.traffic.receiving import SAMPLE_SECONDS
from docsis_experiments.stages.mininet.traffic.torrents.session import (
    Alerts,
    Handle,
    TorrentError,
    checked,
)


class Peers:
    """Peers of a group at one address.

    Args:
        session: Their session.
        handles: Its torrents, by name.
        output: Gets the samples.
    """

    def __init__(self, session: Alerts, handles: Mapping[str, Handle], output: IO[str]) -> None:
        self._session = session
        self._handles = handles
        self._output = output
        output.write(",".join(["time_ns", *handles]) + "\n")

    def run(self) -> None:
        """Write samples until the process is ended.

        Raises:
            TorrentError: An upload cannot go on, or is complete.
        """
        due = time.monotonic()
        while True:
            if (left := due - time.monotonic()) > 0:
                time.sleep(left)
            self.look(time.time_ns())
            due = max(due + SAMPLE_SECONDS, time.monotonic() - SAMPLE_SECONDS)

    def look(self, now_ns: int) -> None:
        """Take one sample, at a time of the wall clock.

        Raises:
            TorrentError: See `run`.
        """
        counts = [one.status(0).total_payload_download for one in self._handles.values()]
        self._output.write(",".join(map(str, (now_ns, *counts))) + "\n")
        self._output.flush()
        for alert in checked(self._session):
            if alert.what() == "torrent_finished":
                raise TorrentError(
                    f"all of a torrent has come, which was to last longer than the run: "
                    f"{alert.message()}"
                )
