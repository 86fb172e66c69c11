# SPDX-License-Identifier: Apache-2.0
"""Figures of the papers that are about single decisions, made of the pipeline in virtual time."""
