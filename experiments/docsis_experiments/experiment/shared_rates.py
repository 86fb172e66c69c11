# SPDX-License-Identifier: Apache-2.0
"""Divides the rate that a group's flows share among the hosts that send them. Pure.

A BitTorrent client limits the sum of its own uploads (000, 2.2.1), and knows nothing of clients on
other hosts. So each host of a group gets a part of the rate, in proportion to its flows. How the
flows of a host share that part is up to the stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from docsis_experiments.experiment.plan import Planned

Client = tuple[str, str]
"""A group, and a host that sends flows of it."""


def client_of(planned: Planned) -> Client:
    """The client that sends a flow."""
    return planned.group, planned.source


def shared_rates(flows: Iterable[Planned]) -> Mapping[Client, int]:
    """The limit of each client, bit/s; clients of groups without a rate are left out."""
    limited = [planned for planned in flows if planned.flow.shared_rate]
    of_group = Counter(planned.group for planned in limited)
    of_client = Counter(map(client_of, limited))
    return {
        client_of(one): one.flow.shared_rate * of_client[client_of(one)] // of_group[one.group]
        for one in limited
    }
