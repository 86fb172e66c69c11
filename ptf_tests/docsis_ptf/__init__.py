# SPDX-License-Identifier: Apache-2.0
"""Base classes and tools of the PTF suite for the DOCSIS v1model programs."""
