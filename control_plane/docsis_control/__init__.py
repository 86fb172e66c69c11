# SPDX-License-Identifier: Apache-2.0
"""The control plane of the testbed: configuration, AQM control laws, P4Runtime driver."""
