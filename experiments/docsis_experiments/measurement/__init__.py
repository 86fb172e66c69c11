# SPDX-License-Identifier: Apache-2.0
"""Measurement: statistics, voice quality, counters, goodput."""
