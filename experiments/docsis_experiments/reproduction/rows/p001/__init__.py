# SPDX-License-Identifier: Apache-2.0
"""The rows of paper 001, "Minimizing Bufferbloat and Optimizing Packet Stream Performance" (2013).

Figures 2 to 16 of a queue manager against the buffer; draws; and what the text says beside them.
"""
