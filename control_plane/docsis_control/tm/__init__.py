# SPDX-License-Identifier: Apache-2.0
"""Client of the traffic manager's service (docsis.tm.v1)."""
