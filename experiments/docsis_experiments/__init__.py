# SPDX-License-Identifier: Apache-2.0
"""Experiments: stages on which they are played, beside Mininet's."""
