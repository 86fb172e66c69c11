# SPDX-License-Identifier: Apache-2.0
"""A sandbox for programs of others: what they may use, and how they are held to it."""
