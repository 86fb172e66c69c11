# SPDX-License-Identifier: Apache-2.0
"""The controller's status as an SNMP agent, in a process of its own."""
