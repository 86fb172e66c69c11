# SPDX-License-Identifier: Apache-2.0
"""The rows of paper 000, "Active Queue Management in DOCSIS 3.X Cable Modems" (CableLabs, 2014)."""
