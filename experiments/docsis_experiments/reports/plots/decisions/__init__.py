# SPDX-License-Identifier: Apache-2.0
"""Plots of single decisions of the pipeline: each is given `figures.samples.Sampled`."""
