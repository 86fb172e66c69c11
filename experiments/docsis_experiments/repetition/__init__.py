# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 run EXPERIMENT --seeds N` and `--repeat N`: results that are distributions.

virtual.py    all runs from N seeds in virtual time, in several processes
real_time.py  all runs N times in Mininet, one after the other
job.py        either of them, and what they left: the folder, the tables, the verdict
"""
