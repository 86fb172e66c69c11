# SPDX-License-Identifier: Apache-2.0
"""Grading: one submission, a class of them, and the formats of results."""
