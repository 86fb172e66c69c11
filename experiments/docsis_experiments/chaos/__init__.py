# SPDX-License-Identifier: Apache-2.0
"""Faults of the whole system, injected at random from a seed, and what must hold all the same."""
