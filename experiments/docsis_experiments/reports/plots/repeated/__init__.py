# SPDX-License-Identifier: Apache-2.0
"""Plots of runs from several seeds, or repeated in Mininet: each is given `subjects.Repeated`."""
