# SPDX-License-Identifier: Apache-2.0
"""Results of several runs beside each other: `docsis-p4 compare`.

reading.py      what a folder of results holds, whichever command left it
titles.py       what each is called beside the others
difference.py   the difference of a quantity between two of them, with its interval
job.py          reads, compares, and leaves a folder
"""
