# SPDX-License-Identifier: Apache-2.0
"""Plots of one experiment under many conditions: each is given `subjects.Swept`."""
