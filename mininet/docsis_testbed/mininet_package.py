# SPDX-License-Identifier: Apache-2.0
"""The only door to Mininet, so that whoever has no Mininet reads how to get it.

Raises:
    TestbedError: Mininet cannot be imported here.
"""

from __future__ import annotations

from docsis_control.project_files import how_to_get
from docsis_testbed.errors import TestbedError

try:
    from mininet.cli import CLI
    from mininet.link import Intf, Link
    from mininet.net import Mininet
    from mininet.node import Host, Node, Switch
except ImportError as error:
    raise TestbedError(
        f"Mininet cannot be imported ({error}); {how_to_get('make setup')} as root, which installs "
        "it on Debian and Ubuntu, or use virtual time (--virtual)"
    ) from None

__all__ = ["CLI", "Host", "Intf", "Link", "Mininet", "Node", "Switch"]
