# SPDX-License-Identifier: Apache-2.0
"""Traffic generators: iperf3 uploads and irtt probes, and what they say."""
