# SPDX-License-Identifier: Apache-2.0
"""The web users of a run in Mininet, and what they left."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from docsis_experiments.experiment.web_users import PlannedPages
from docsis_experiments.measurement.record import Pages, Received
from docsis_experiments.stages.mininet.samples import read_samples
from docsis_experiments.stages.mininet.traffic import web
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.session import Session, wait_until_ready

Start = Callable[[str, Sequence[str]], subprocess.Popen[bytes]]
"""Starts a program outside of hosts, and waits until it is ready."""


class WebTraffic:
    """Users, each a program in its host, and one program that has all of their servers.

    Args:
        session: The switches and hosts.
        users: Users of the plan, with nothing left to chance.
    """

    def __init__(self, session: Session, users: Sequence[PlannedPages]) -> None:
        self._session = session
        self._users = users

    def start_servers(self, start: Start) -> list[subprocess.Popen[bytes]]:
        """The servers' program, if there is a user."""
        if not self._users:
            return []
        servers = {
            (name, port, user.congestion_control)
            for user in self._users
            for name, port in user.servers
        }
        file = self._session.folder / "web-servers.json"
        web.write([self._server(*one) for one in sorted(servers)], file)
        return [start("web-servers", web.serve_command(file))]

    def _server(self, name: str, port: int, congestion_control: str) -> web.WebServer:
        node = self._session.testbed.node(name)
        return web.WebServer(node.pid, self._session.address(name), port, congestion_control)

    def start_users(self, origin_ns: int) -> list[subprocess.Popen[bytes]]:
        """The users' programs.

        Args:
            origin_ns: Start of the run's timetable, wall clock in nanoseconds.
        """
        return [self._start_user(user, origin_ns) for user in self._users]

    def _start_user(self, user: PlannedPages, origin_ns: int) -> subprocess.Popen[bytes]:
        session = self._session
        file = session.folder / f"web-{user.name}.json"
        told = web.WebUser(
            name=user.name,
            origins=tuple((session.address(name), port) for name, port in user.servers),
            start_ns=origin_ns + round(user.start * 1e9),
            end_ns=None if user.end is None else origin_ns + round(user.end * 1e9),
            pages=user.pages,
            seed=user.seed,
        )
        web.write(told, file)
        command = web.load_command(file, self._pages_file(user), self._received_file(user))
        log = f"web-{user.name}.log"
        process = session.launch(user.user, real_time(command, PROBE_PRIORITY), log)
        what = f"the web user {user.name}"
        session.watch(what, process, session.folder / log)
        wait_until_ready(process, what, session.folder / log)
        return process

    def _pages_file(self, user: PlannedPages) -> Path:
        return self._session.folder / f"web-{user.name}-pages.csv"

    def _received_file(self, user: PlannedPages) -> Path:
        return self._session.folder / f"web-{user.name}-received.csv"

    def pages(self, start_ns: int) -> dict[str, Pages]:
        """Pages by group, on the record's time axis.

        Args:
            start_ns: Start of the measured time, wall clock in nanoseconds.
        """
        found: dict[str, list[Pages]] = {}
        for user in self._users:
            rows = web.read_pages(self._pages_file(user))
            began = np.array([began - start_ns for began, _ in rows], dtype=np.float64) / 1e9
            complete = [np.nan if end is None else (end - start_ns) / 1e9 for _, end in rows]
            found.setdefault(user.group, []).append(Pages(began, np.array(complete)))
        return {group: Pages.together(parts) for group, parts in found.items()}

    def received(self, start_ns: int) -> dict[str, Received]:
        """Payload by group, on the same axis; users look at their own times."""
        found: dict[str, Received] = {}
        for user in self._users:
            times, counts = read_samples(self._received_file(user))
            time_s = (times - start_ns) / 1e9
            flow = counts[user.name].astype(np.float64)
            if (group := found.get(user.group)) is None:
                found[user.group] = Received(time_s, {user.name: flow})
            else:
                # At the first one's times, so that the group has one axis.
                flow = np.interp(group.time_s, time_s, flow)
                found[user.group] = Received(group.time_s, {**group.flow_bytes, user.name: flow})
        return found
