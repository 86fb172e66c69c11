# SPDX-License-Identifier: Apache-2.0
"""Topologies: switches, modems and hosts as the operator writes them; what modems are to run."""

from docsis_control.topology.loader import load_tier, load_topology
from docsis_control.topology.models import CableModem, Device, Host, Server, Topology
from docsis_control.topology.schema import json_schemas

__all__ = [
    "CableModem",
    "Device",
    "Host",
    "Server",
    "Topology",
    "json_schemas",
    "load_tier",
    "load_topology",
]
