# SPDX-License-Identifier: Apache-2.0
"""Traffic generators: iperf3 uploads and irtt probes, and what they say."""

CONGESTION_CONTROL = "cubic"
"""Named at every connection: a system's default may be another one, and a kernel
may refuse to change the default of a namespace."""
