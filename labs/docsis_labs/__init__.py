# SPDX-License-Identifier: Apache-2.0
"""Graded exercises about queues: what they are made of, and how they are graded."""
