# SPDX-License-Identifier: Apache-2.0
"""Plots of several results over each other: each is given `subjects.Compared`."""
