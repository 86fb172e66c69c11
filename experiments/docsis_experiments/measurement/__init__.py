# SPDX-License-Identifier: Apache-2.0
"""Measurement: what a run left, the quantities of it, voice quality, time keeping."""
