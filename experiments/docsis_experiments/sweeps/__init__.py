# SPDX-License-Identifier: Apache-2.0
"""One experiment under many conditions: `docsis-p4 sweep`.

models.py    a sweep's file
loader.py    reads it, and the experiment that it names
axes.py      what each axis changes of the experiment or its topology; one entry an axis
expand.py    from a sweep to its points, in a fixed order, and their units of work
schema.py    JSON Schema of the file
cluster.py   plays units on a Dask cluster, over TLS only
tls.py       the way to its scheduler: what is no TLS, or is not there, is told at once
table.py     all outcomes as one table
job.py       plays what is not there yet, and leaves a folder
"""
