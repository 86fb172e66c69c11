# SPDX-License-Identifier: Apache-2.0
"""The rows of paper 002, "Managing Fairness and Application Performance with AQM in DOCSIS" (2014).

Its experiments 1 to 4: one queue under several service flows, by the number of downloads; and an
adaptive video beside a download.
"""
