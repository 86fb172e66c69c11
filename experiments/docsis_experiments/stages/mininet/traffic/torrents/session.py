# SPDX-License-Identifier: Apache-2.0
"""A session of libtorrent: what is used of it, how it is made, and what it says when it fails."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from docsis_experiments.stages.mininet.traffic.torrents import Endpoint
from docsis_experiments.stages.mininet.traffic.torrents.settings import session_settings
from docsis_experiments.stages.mininet.traffic.torrents.torrent import DATA, document

_READY_SECONDS: Final = 20.0
_LOOK_MS: Final = 100

_BROKEN: Final = frozenset(
    {"torrent_error", "file_error", "hash_failed", "listen_failed", "session_error"}
)
"""Alerts after which an upload does not go on as it was meant to."""


class TorrentError(Exception):
    """A session cannot go on; the message says why."""


class Alert(Protocol):
    """Something that a session tells; those of a torrent have its `torrent_name`."""

    def what(self) -> str:
        """Kind of the alert."""

    def message(self) -> str:
        """The alert as a sentence."""


class TorrentAlert(Alert, Protocol):
    """One about a torrent.

    Attributes:
        torrent_name: The torrent's name.
    """

    torrent_name: str


class StatsAlert(Alert, Protocol):
    """One of the kind session_stats.

    Attributes:
        values: The session's counters, by name.
    """

    values: Mapping[str, int]


class Alerts(Protocol):
    """The part of a session that tells what happens."""

    def pop_alerts(self) -> Sequence[Alert]:
        """Takes what has happened since the last call."""

    def wait_for_alert(self, max_wait: int) -> object:
        """Waits for something, milliseconds at the most."""

    def post_session_stats(self) -> None:
        """Asks for an alert with the session's counters."""


class Status(Protocol):
    """The state of a torrent.

    Attributes:
        total_payload_download: Bytes of payload that came.
    """

    total_payload_download: int


class Handle(Protocol):
    """A torrent of a session."""

    def connect_peer(self, endpoint: Endpoint) -> None:
        """Connects to a peer, unless there is a connection."""

    def pause(self) -> None:
        """Closes its connections, and makes no other."""

    def status(self, flags: int) -> Status:
        """The state of the torrent; of flags 0, what costs nothing."""


def _libtorrent() -> Any:
    """The module; it is loaded where it is used, as not every installation has it."""
    return import_module("libtorrent")


def installed() -> bool:
    """Whether libtorrent is there."""
    try:
        _libtorrent()
    except ImportError:
        return False
    return True


def broken(alert: Alert) -> str | None:
    """Why a session cannot go on after an alert, in words; None where it can."""
    if alert.what() not in _BROKEN:
        return None
    return f"{alert.what().replace('_', ' ')}: {alert.message()}"


def checked(session: Alerts) -> Sequence[Alert]:
    """Takes a session's alerts.

    Raises:
        TorrentError: One of them says that it cannot go on.
    """
    alerts = session.pop_alerts()
    for alert in alerts:
        if (why := broken(alert)) is not None:
            raise TorrentError(why)
    return alerts


class Opened:
    """A session with its torrents.

    Args:
        listen: Addresses and ports that it binds.
        others: Addresses that may speak with it.
        names: Names of the torrents.
        rate: bit/s that all of them upload together at the most; 0 for no limit.
        size: Bytes of each torrent.
        target_ms: Queueing delay that uTP keeps to.
        complete: It has all of their data, instead of nothing.

    Attributes:
        session: The session.
        handles: Its torrents, by name.
    """

    def __init__(
        self,
        listen: Sequence[Endpoint],
        others: Iterable[str],
        names: Sequence[str],
        *,
        rate: int = 0,
        size: int,
        target_ms: int,
        complete: bool,
    ) -> None:
        lt = _libtorrent()
        category = lt.alert.category_t
        params = lt.session_params()
        # It reads and writes in the session's own thread, and has no cache: the data are no disk's.
        params.disk_io_constructor = "posix_disk_io_constructor"
        params.settings = {
            **session_settings(target_ms, listen, len(names), rate),
            "alert_mask": int(
                category.error_notification
                | category.status_notification
                | category.connect_notification
                | category.stats_notification
            ),
        }
        self.session: Alerts = (session := lt.session(params))
        session.set_ip_filter(_only(others))
        session.set_peer_class_filter(_limited())
        self.handles: Mapping[str, Handle] = {
            name: session.add_torrent(_added(name, size, complete)) for name in names
        }
        self._wait_until_bound(len(listen))

    def _wait_until_bound(self, sockets: int) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        bound = 0
        while bound < sockets:
            if time.monotonic() > deadline:
                raise TorrentError(f"only {bound} of {sockets} ports were bound in time")
            self.session.wait_for_alert(_LOOK_MS)
            bound += sum(
                one.what() == "listen_succeeded" and "[uTP]" in one.message()
                for one in checked(self.session)
            )


def _only(others: Iterable[str]) -> Any:
    lt = _libtorrent()
    found = lt.ip_filter()
    found.add_rule("0.0.0.0", "255.255.255.255", 1)
    for address in others:
        found.add_rule(address, address, 0)
    return found


def _limited() -> Any:
    """A filter that puts every peer under the session's limits.

    libtorrent's own exempts peers on private networks, where all of Mininet's hosts are.
    """
    lt = _libtorrent()
    found = lt.ip_filter()
    found.add_rule("0.0.0.0", "255.255.255.255", 1 << lt.session.global_peer_class_id)
    return found


def _added(name: str, size: int, complete: bool) -> Any:
    lt = _libtorrent()
    flags = lt.torrent_flags
    params = lt.add_torrent_params()
    params.ti = lt.torrent_info(document(name, size))
    # Nothing is ever made there: the torrent's only file is another.
    params.save_path = "/"
    params.renamed_files = {0: DATA}
    params.flags = flags.disable_dht | flags.disable_lsd | flags.disable_pex | flags.apply_ip_filter
    if complete:
        params.flags |= flags.seed_mode | flags.no_verify_files
    return params
