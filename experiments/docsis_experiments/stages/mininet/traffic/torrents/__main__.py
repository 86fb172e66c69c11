# SPDX-License-Identifier: Apache-2.0
"""Uploads torrents, or downloads them, until it is ended."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from docsis_experiments.stages.mininet.traffic.flows import write_retransmitted
from docsis_experiments.stages.mininet.traffic.torrents import Uploads, read
from docsis_experiments.stages.mininet.traffic.torrents.client import Client
from docsis_experiments.stages.mininet.traffic.torrents.peers import Peers
from docsis_experiments.stages.mininet.traffic.torrents.session import Opened, TorrentError


def main(arguments: Sequence[str]) -> None:
    """Upload, or download, what a file says of an address."""
    what, file, address, *others = arguments
    group = read(Path(file))
    with suppress(KeyboardInterrupt):
        try:
            if what == "send":
                origin_ns, retransmitted = others
                send(group, address, int(origin_ns), Path(retransmitted))
            else:
                receive(group, address, Path(others[0]))
        except TorrentError as error:
            sys.exit(str(error))


def send(group: Uploads, address: str, origin_ns: int, retransmitted: Path) -> None:
    """Upload until the process is ended, and write then what had to be sent again."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    uploads = group.of(address)
    opened = Opened(
        sorted({one.source for one in uploads}),
        {one.peer[0] for one in uploads},
        [one.name for one in uploads],
        rate=group.rates.get(address, 0),
        size=group.size,
        target_ms=group.target_ms,
        complete=True,
    )
    client = Client(opened.session, opened.handles, uploads, origin_ns / 1e9)
    print("ready", flush=True)
    try:
        client.run()
    finally:
        count = client.ask_last()
        # A number that nobody has told is none, and not 0.
        write_retransmitted({} if count is None else {address: count}, retransmitted)


def receive(group: Uploads, address: str, samples: Path) -> None:
    """Download until the process is ended."""
    uploads = group.to(address)
    opened = Opened(
        [one.peer for one in uploads],
        {one.source[0] for one in uploads},
        [one.name for one in uploads],
        size=group.size,
        target_ms=group.target_ms,
        complete=False,
    )
    with samples.open("w") as output:
        peers = Peers(opened.session, opened.handles, output)
        print("ready", flush=True)
        peers.run()


if __name__ == "__main__":
    main(sys.argv[1:])
