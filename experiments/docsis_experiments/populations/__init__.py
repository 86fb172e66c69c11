# SPDX-License-Identifier: Apache-2.0
"""Many short tests over a drawn population of modems: `docsis-p4 population`.

models.py    a population's file: who is tested, and how
loader.py    reads it, and the tiers that it names
access.py    what a request/grant MAC takes of an idle round trip
drawing.py   who is tested in each test: tier, distance and modem; the same for every arm
testing.py   a test of an arm as a unit of work
table.py     what came of all tests, and its file
figures.py   medians, shares and comparisons of it, with intervals over tests
schema.py    JSON Schema of the file
document.py  a population as the files that it can be read from again
job.py       plays what is not there yet, and leaves a folder
"""
