# SPDX-License-Identifier: Apache-2.0
"""Scenarios: queue managers, traffic and a channel from a file, held against published figures."""
