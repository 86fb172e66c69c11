# SPDX-License-Identifier: Apache-2.0
"""The files that a run leaves: raw samples, summary, plots, report."""
