# SPDX-License-Identifier: Apache-2.0
"""A live page of a running system: what its registers and counters say, ten times a second.

Data flows one way: `sampler` reads the switches (`readings`) and the controller, makes rows
(`samples`) and keeps them (`history`); `server` hands them to pages. What a page asks for
(`actions`) goes to the controller and to the run, and comes back as readings. docs/live.md.
"""
