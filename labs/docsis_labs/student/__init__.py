# SPDX-License-Identifier: Apache-2.0
"""A student's Python, in a process of its own."""
