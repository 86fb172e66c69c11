# SPDX-License-Identifier: Apache-2.0
"""Queue managers: their names, their parameters, and what the pipeline gets of them.

`names` imports nothing heavy, so that a command line can list them at once.
"""
