# SPDX-License-Identifier: Apache-2.0
"""How full the sustained rate's bucket is: when it is empty, the rate falls from peak to sustained.

This is the pipeline's bucket (`Control.bucket_bytes`), which spends a frame's tokens when the frame
leaves. It counts as empty below 1% of the most that it had in the run. It falls by the difference
of the two rates, so this is up to 48 ms too early with the 30 MB and 250 and 200 Mbit/s of 000.

Behind a request/grant MAC the rate falls when the modem's bucket is empty. That one spends a
frame's tokens when it requests the frame, because "buckets shape what it requests" (White 2014,
section 7). So the pipeline's bucket has more, by what is requested and has not been sent: some
milliseconds of traffic, less than 0.2 MB at 250 Mbit/s, which do not reach 1% of 30 MB. A bucket
of which 1% is less than that never counts as empty behind a MAC.

The tokens that the controller's law sees (`Control.tokens_bytes`) do not tell when the rate falls.
Behind a MAC the law takes all that is queued off the bucket, so behind megabytes that wait there
are none up to a second before the bucket is empty.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.record import Floats, RunRecord

EMPTY: Final = 0.01
"""The bucket is empty below this filling."""

UNKNOWN: Final = "the controller's samples do not say what the bucket has"
"""Why there is no filling, in words."""


def filling(run: RunRecord) -> Floats:
    """How full the bucket was at each of the controller's samples, of the most that it had.

    Returns:
        0 to 1, shape (samples,). Shape (0,) where it was not recorded, or there was none.
    """
    bucket = run.control.bucket_bytes
    most = bucket.max(initial=0.0)
    return bucket / most if most > 0 else bucket[:0]
