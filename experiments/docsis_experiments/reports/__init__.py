# SPDX-License-Identifier: Apache-2.0
"""What a run leaves: raw samples, summary, plots, report."""
