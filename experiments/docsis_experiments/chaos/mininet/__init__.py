# SPDX-License-Identifier: Apache-2.0
"""Faults of real processes and interfaces, in Mininet."""
