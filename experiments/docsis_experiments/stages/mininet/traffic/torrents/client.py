# SPDX-License-Identifier: Apache-2.0
"""The client that uploads: connections to its peers on the run's timetable."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, cast

from docsis_experiments.stages.mininet.traffic.torrents import Upload
from docsis_experiments.stages.mininet.traffic.torrents.session import (
    Alert,
    Alerts,
    Handle,
    StatsAlert,
    TorrentAlert,
    checked,
)

_LOOK_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 2.0
"""How long the session's last counters are waited for."""
_RESENT: Final = "utp.utp_packet_resend"
"""libtorrent's counter of uTP packets that were sent again, for whatever reason."""
_GONE: Final = frozenset({"peer_disconnected", "peer_error"})


class Client:
    """Uploads of a client on a timetable.

    Args:
        session: Its session.
        handles: Its torrents, by name.
        uploads: One for each.
        origin: Start of the timetable, wall clock in seconds.

    Attributes:
        retransmitted: uTP packets that were sent again, when the session was last asked; None
            where it has not answered.
    """

    def __init__(
        self,
        session: Alerts,
        handles: Mapping[str, Handle],
        uploads: Sequence[Upload],
        origin: float,
    ) -> None:
        self.retransmitted: int | None = None
        self._session = session
        self._handles = handles
        self._uploads = {one.name: one for one in uploads}
        self._origin = origin
        self._to_connect = {one.name: origin + one.start for one in uploads}
        self._to_end = {one.name: origin + one.end for one in uploads if one.end is not None}

    def run(self) -> None:
        """Upload until the process is ended.

        Raises:
            TorrentError: An upload cannot go on.
        """
        while True:
            due = self.step(time.time())
            left = max(0.0, min(due - time.time(), _LOOK_SECONDS))
            self._session.wait_for_alert(1 + int(left * 1e3))

    def step(self, now: float) -> float:
        """Do what is due, and see what has happened.

        Args:
            now: Wall clock in seconds.

        Returns:
            When something is due again.

        Raises:
            TorrentError: See `run`.
        """
        for name in [name for name, at in self._to_end.items() if at <= now]:
            del self._to_end[name]
            self._to_connect.pop(name, None)
            self._handles[name].pause()
            del self._uploads[name]
        for name in [name for name, at in self._to_connect.items() if at <= now]:
            del self._to_connect[name]
            self._handles[name].connect_peer(self._uploads[name].peer)
        for alert in checked(self._session):
            self._seen(alert, now)
        return min([*self._to_end.values(), *self._to_connect.values()], default=float("inf"))

    def _seen(self, alert: Alert, now: float) -> None:
        if alert.what() == "session_stats":
            self.retransmitted = cast(StatsAlert, alert).values[_RESENT]
        elif alert.what() in _GONE:
            # Lost in a queue that was full, for too long: as a user's client, try again.
            print(alert.message(), flush=True)
            name = cast(TorrentAlert, alert).torrent_name
            if name in self._uploads:
                self._to_connect[name] = now + _RETRY_SECONDS

    def ask_last(self) -> int | None:
        """Asks for the packets that were sent again, once more.

        Returns:
            Their number; None where the session does not answer within `_LAST_SECONDS`.
        """
        # An answer to an earlier question would be of an earlier time.
        self.retransmitted = None
        deadline = time.monotonic() + _LAST_SECONDS
        self._session.post_session_stats()
        while time.monotonic() < deadline:
            self._session.wait_for_alert(round(_LOOK_SECONDS * 1e3))
            alerts = self._session.pop_alerts()
            for alert in alerts:
                self._seen(alert, 0.0)
            if any(alert.what() == "session_stats" for alert in alerts):
                break
        return self.retransmitted
