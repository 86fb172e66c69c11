# SPDX-License-Identifier: Apache-2.0
"""Calibrations of rows before any run that counts, on trial seeds as registered."""
