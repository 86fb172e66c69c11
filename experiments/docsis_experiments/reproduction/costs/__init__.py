# SPDX-License-Identifier: Apache-2.0
"""The costs of works on this machine, in seconds of a processor.

features.py     what a run's cost follows from: virtual time, the MAC, frames
ledger.py       what works took that were made here
calibration.py  short runs that a machine without a ledger is measured with
model.py        from both to the cost of a work that was never made
estimate.py     what each row costs, and all of them together
"""
