# SPDX-License-Identifier: Apache-2.0
"""Where programs of others run: what they may use, and how it is held."""
