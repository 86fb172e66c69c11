# SPDX-License-Identifier: Apache-2.0
"""Streams' frames, as another implementation reads them."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from docsis_control.lengths import frame_length
from docsis_ptf.frames import SHORTEST, Stream

MAC = "02:00:00:00:01:01"


@pytest.mark.parametrize("length", [SHORTEST, 65, 218, 1500, 9000])
def test_a_frame_is_what_it_says(length: int) -> None:
    frame = Ether(Stream(MAC, length, src_port=4001, dst_port=5001).template())
    assert frame_length(len(frame)) == length
    assert (frame.dst, frame[UDP].sport, frame[UDP].dport) == (MAC, 4001, 5001)
    assert frame[IP].len == length - 18
    assert frame[UDP].len == length - 38
    checksum = frame[IP].chksum
    del frame[IP].chksum
    assert Ether(bytes(frame))[IP].chksum == checksum


def test_frames_differ_in_their_number_only() -> None:
    frames = Stream(MAC, 100, stream_id=9).frames(300, 65_500)
    assert frames.shape == (300, 96)
    numbers = [int.from_bytes(bytes(row[50:54])) for row in frames]
    assert numbers == list(range(65_500, 65_800))
    assert (frames[:, :50] == frames[0, :50]).all()
    assert not frames[:, 54:].any()


def test_too_short_a_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="53"):
        Stream(MAC, SHORTEST - 1).template()
