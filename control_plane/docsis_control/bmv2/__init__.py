# SPDX-License-Identifier: Apache-2.0
"""BMv2 as a target: it has no docsis.tm.v1, so its own queues, which count packets, are used."""
