# SPDX-License-Identifier: Apache-2.0
"""The virtual stage: the same devices, controller and traffic in a world with its own clock."""
