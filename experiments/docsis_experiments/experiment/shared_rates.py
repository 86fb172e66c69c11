# SPDX-License-Identifier: Apache-2.0
"""What the hosts of a group have of the rate that all of its flows share. Pure.

A client of BitTorrent limits what its own uploads send together (000, 2.2.1). So a group's rate is
divided among its hosts, each of which has as much of it as it has flows; what it does with that is
the stage's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from docsis_experiments.experiment.plan import Planned

Client = tuple[str, str]
"""A group, and a host that sends flows of it."""


def client_of(planned: Planned) -> Client:
    """Who sends a flow."""
    return planned.group, planned.source


def shared_rates(flows: Iterable[Planned]) -> Mapping[Client, int]:
    """The rates that clients' flows keep to together, bit/s; only of groups that have one."""
    limited = [planned for planned in flows if planned.flow.shared_rate]
    of_group = Counter(planned.group for planned in limited)
    of_client = Counter(map(client_of, limited))
    return {
        client_of(one): one.flow.shared_rate * of_client[client_of(one)] // of_group[one.group]
        for one in limited
    }
