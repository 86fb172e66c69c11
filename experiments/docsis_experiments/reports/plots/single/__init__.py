# SPDX-License-Identifier: Apache-2.0
"""Plots of one run of each queue manager: each is given `subjects.Runs`."""
