# SPDX-License-Identifier: Apache-2.0
"""Programs that hosts run: iperf3, irtt and our own."""
