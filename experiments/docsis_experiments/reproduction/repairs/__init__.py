# SPDX-License-Identifier: Apache-2.0
"""Defects of ours that were mended after rows had run, and the rows that they concern."""
