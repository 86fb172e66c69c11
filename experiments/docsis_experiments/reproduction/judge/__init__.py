# SPDX-License-Identifier: Apache-2.0
"""Applies the registered rules to what was measured. Pure, but for the file of kept outcomes."""
