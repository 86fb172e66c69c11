# SPDX-License-Identifier: Apache-2.0
"""Rows of no paper, for tests of what makes and judges them."""
