# SPDX-License-Identifier: Apache-2.0
"""The rows of paper 003, "Improving Latency with Active Queue Management During COVID-19" (2021).

Distributions over thousands of short tests, of modems with AQM and without (figures 3 to 6).
"""
