# SPDX-License-Identifier: Apache-2.0
"""How much an assumption of ours, which a paper does not state, decides of a row."""
