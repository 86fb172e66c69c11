# SPDX-License-Identifier: Apache-2.0
"""What stands in for DOCSIS's queues on BMv2, which has no docsis.tm.v1: queues in packets."""
