# SPDX-License-Identifier: Apache-2.0
"""Faults in virtual time: the controller itself, on an event loop whose time is the world's."""
