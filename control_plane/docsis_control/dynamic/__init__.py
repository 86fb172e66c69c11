# SPDX-License-Identifier: Apache-2.0
"""Dynamic service: service flows and classifiers added, changed and deleted on a running system.

What DOCSIS does with DSA, DSC and DSD messages (MULPI, section 11).
"""
