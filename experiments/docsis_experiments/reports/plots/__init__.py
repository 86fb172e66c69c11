# SPDX-License-Identifier: Apache-2.0
"""The plots of reports. To add one, add a file that has a `PLOT`; nothing else has to know of it.

single/       of one run of each queue manager
repeated/     of runs from several seeds, or repeated in Mininet
sweep/        of one experiment under many conditions
comparison/   of several results over each other
decisions/    of single decisions of the pipeline, which need no traffic

Every module of these folders is a plot. `plot.py` says what a plot is, `registry.py` finds them,
`subjects.py` has what they are given, `look.py` and `scales.py` what they have in common.
"""
