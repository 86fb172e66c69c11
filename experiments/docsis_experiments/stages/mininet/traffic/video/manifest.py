# SPDX-License-Identifier: Apache-2.0
"""The inputs of a player: a video's MPD (ISO/IEC 23009-1), and dash.js' settings. Pure."""

from __future__ import annotations

import math
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from docsis_experiments.stages.mininet.traffic.video.boxes import CODEC, SIDE
from docsis_experiments.traffic.senders import AdaptiveVideo

INITIALIZATION: Final = "init.mp4"
MANIFEST: Final = "video.mpd"


def segments_of(video: AdaptiveVideo, seconds: float) -> int:
    """Segments of a video that is at least so long, and what fits into a buffer besides."""
    return math.ceil((seconds * 1e9 + video.buffer_ns) / video.segment_ns) + 1


def manifest(video: AdaptiveVideo, seconds: float) -> str:
    """The MPD of a video that lasts at least so long."""
    segment_ms = video.segment_ns // 1_000_000
    length_s = segments_of(video, seconds) * segment_ms / 1000
    rates = "\n".join(
        f'      <Representation id="{place}" bandwidth="{rate}"/>'
        for place, rate in enumerate(video.ladder)
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011"
    type="static" mediaPresentationDuration="PT{length_s:.3f}S"
    minBufferTime="PT{segment_ms / 1000:.3f}S">
  <Period id="0" start="PT0S">
    <AdaptationSet id="0" contentType="video" mimeType="video/mp4" codecs={quoteattr(CODEC)}
        width="{SIDE}" height="{SIDE}" segmentAlignment="true" startWithSAP="1">
      <SegmentTemplate timescale="1000" duration="{segment_ms}" startNumber="0"
          initialization="{INITIALIZATION}" media="$RepresentationID$/$Number$.m4s"/>
{rates}
    </AdaptationSet>
  </Period>
</MPD>
"""


def player_settings(video: AdaptiveVideo) -> dict[str, Any]:
    """Settings of dash.js with which its rule is that of the model in virtual time.

    A rule of its own is on: throughput. Its sample of a segment is all of its bits over the time
    from request to end (`useDeadTimeLatency` off), its estimate the plain mean of the newest. It
    asks for a segment where that has room in the buffer, the model where the buffer is not full:
    so the buffer that it is told of has a segment more.
    """
    off = {"active": False}
    rules = ("bola", "insufficientBuffer", "switchHistory", "droppedFrames", "abandonRequests")
    buffer_s = (video.buffer_ns + video.segment_ns) / 1e9
    patient = 3_600_000
    return {
        "streaming": {
            "abr": {
                "rules": {
                    "throughputRule": {"active": True},
                    **{f"{rule}Rule": off for rule in rules},
                    "l2ARule": off,
                    "loLPRule": off,
                },
                "throughput": {
                    "averageCalculationMode": "throughputCalculationModeArithmeticMean",
                    "useResourceTimingApi": True,
                    "useDeadTimeLatency": False,
                    "bandwidthSafetyFactor": video.safety_permille / 1000,
                    "sampleSettings": {
                        "vod": video.samples,
                        "enableSampleSizeAdjustment": False,
                        "maxMeasurementsToKeep": max(20, video.samples),
                    },
                },
                # Kilobits a second: the lowest one.
                "initialBitrate": {"video": video.ladder[0] / 1000},
            },
            "buffer": {
                "fastSwitchEnabled": False,
                "bufferTimeDefault": buffer_s,
                "bufferTimeAtTopQuality": buffer_s,
                "bufferTimeAtTopQualityLongForm": buffer_s,
                # A player stands still when there is nothing left, and not before.
                "stallThreshold": 0.05,
                "setStallState": False,
            },
            "scheduling": {"defaultTimeout": 50},
            "cacheLoadThresholds": {"video": 0},
            "lastBitrateCachingInfo": {"enabled": False},
            "utcSynchronization": {"enabled": False},
            # However slow it is: it is waited for.
            "fragmentRequestTimeout": patient,
            "manifestRequestTimeout": patient,
            "retryAttempts": {"MPD": 3600, "MediaSegment": 3600, "InitializationSegment": 3600},
        }
    }
