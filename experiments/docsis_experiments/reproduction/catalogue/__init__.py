# SPDX-License-Identifier: Apache-2.0
"""The registered rules as data: a YAML file a paper, its models, its loader, its hashes."""
