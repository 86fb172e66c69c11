# SPDX-License-Identifier: Apache-2.0
"""The common settings of a paper's rows: networks, traffic and queue managers."""
