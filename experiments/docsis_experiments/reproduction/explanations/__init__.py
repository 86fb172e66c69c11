# SPDX-License-Identifier: Apache-2.0
"""Why rows do not come out as published: a paragraph each, with its evidence, as data."""
