# SPDX-License-Identifier: Apache-2.0
"""What the rows of a paper have in common: their networks, traffic and queue managers."""
