# SPDX-License-Identifier: Apache-2.0
"""Plots of the report of a population: each is given `subjects.Populated`."""
