# SPDX-License-Identifier: Apache-2.0
"""The testbed for Python programs: build a network, run it, and look at distributions.

    from docsis_p4 import Network, Virtual

    street = Network("street", tier="cable-20")
    street.add_host("laptop")
    street.add_host("console")
    street.add_server("near", round_trip_time="20 ms")
    street.add_traffic("game", "voip", hosts=["console"])
    street.add_traffic("uploads", "transfer", hosts=["laptop"], count=4)
    results = street.run(["drop-tail-250ms", "docsis-pie"], seconds=10, on=Virtual(seed=1))
    for run in results:
        print(run.name, run["game"].latency.median, run["uploads"]["goodput"])

Whatever cannot be done is an `Error` with the sentence that the command line would print.
"""

from __future__ import annotations

from docsis_p4.network import Network
from docsis_p4.results import Latency, Results, Run, Traffic, read
from docsis_p4.stages import Mininet, Virtual
from docsis_testbed.errors import NoVerdict
from docsis_testbed.errors import TestbedError as Error

__all__ = [
    "Error",
    "Latency",
    "Mininet",
    "Network",
    "NoVerdict",
    "Results",
    "Run",
    "Traffic",
    "Virtual",
    "read",
]
