# SPDX-License-Identifier: Apache-2.0
"""Whether a simulator that others wrote measures what virtual time measures, under one load."""
