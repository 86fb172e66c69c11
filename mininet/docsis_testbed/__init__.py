# SPDX-License-Identifier: Apache-2.0
"""Testbed: Mininet nodes and links, traffic, measurement, experiments and reports."""
