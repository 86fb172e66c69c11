# SPDX-License-Identifier: Apache-2.0
"""The unit of work of whatever plays an experiment more than once: seeds, repetitions, sweeps.

unit.py      what is played: one run of one experiment from one seed, and the key of its result
sources.py   what a result depends on beside that: code, pipeline, switch or world
loaded_code.py  loads all code of a result before it is made, so that no key names other code
file_hashes.py  hashes of files, which are read again only where they were changed
programs.py  versions of the kernel and of what makes traffic in Mininet
play.py      plays a unit in virtual time
outcome.py   what is kept of a run, made from the record of either stage
files.py     outcomes as Parquet, validated when they are read
store.py     outcomes in a folder, by key
pool.py      plays units in several processes
in_mininet.py  plays units in Mininet, one after the other
collecting.py  plays what is missing, and keeps each result as it comes
"""
