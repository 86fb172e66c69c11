# SPDX-License-Identifier: Apache-2.0
"""Control laws: pure functions over NumPy arrays, one element a service flow."""
