# SPDX-License-Identifier: Apache-2.0
"""The token buckets' inequality, checked over every window of a capture.

design.md, "The traffic manager": for all t1 < t2,
TxBytes <= (t2 - t1) * rate / 8 + depth.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

NANOSECONDS: Final = 1_000_000_000


def worst_excess(
    time_ns: npt.NDArray[np.int64], length: npt.NDArray[np.int64], rate: int, depth: int
) -> float:
    """Bytes by which the worst of all windows exceeds the bucket; negative: by how much it holds.

    `rate` in bit/s, `depth` in bytes. A window starts just before a frame and
    ends just after a later one. With S the bytes up to and including a frame,
    its excess is (S[j] - t[j] r) - (S[i-1] - t[i] r) - depth, so one running
    minimum finds the largest of the n^2 / 2 windows.
    """
    if not len(time_ns):
        return -float(depth)
    earned = (time_ns - time_ns[0]) * (rate / 8 / NANOSECONDS)
    sent = np.cumsum(length)
    window_start = np.minimum.accumulate(sent - length - earned)
    return float((sent - earned - window_start).max()) - depth


def worst_lack(
    time_ns: npt.NDArray[np.int64], length: npt.NDArray[np.int64], rate: int, depth: int
) -> float:
    """Bytes by which the worst of all windows is short of what the rate is worth, less `depth`.

    Of frames that all waited: a window begins just behind a frame and ends just before a later
    one, so it is the longest without more frames in it. `rate` in bit/s, `depth` in bytes.
    """
    if len(time_ns) < 2:
        return -float(depth)
    earned = (time_ns - time_ns[0]) * (rate / 8 / NANOSECONDS)
    sent = np.cumsum(length)
    # Behind frame i until before frame j: (t[j] - t[i]) r - (S[j-1] - S[i]).
    window_start = np.minimum.accumulate((earned - sent)[:-1])
    return float((earned[1:] - sent[:-1] - window_start).max()) - depth
