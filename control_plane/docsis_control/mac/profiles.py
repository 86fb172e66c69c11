# SPDX-License-Identifier: Apache-2.0
"""The channels that have a name, each with its defaults.

Sources: 004 is the paper, [n] the code of docsis-ns3, [V] a vendor's document, K1 the model of
paper 000's authors; [?] was not verified in a text, so it is a default to change.
"""

from typing import Final

from docsis_control.mac.phy import Flat, Ofdma, ScQam
from docsis_control.mac.profile import (
    MOST_CONCATENATED,
    Asking,
    Backoff,
    Capacity,
    Clock,
    ContentionPlace,
    GrantPlace,
    Packing,
    Profile,
    Timing,
)

NONE: Final = "none"
"""No request/grant MAC: modems send as if the channel were theirs."""

CABLELABS_2014: Final = "cablelabs-2014"
DOCSIS_1_1_004: Final = "docsis-1.1-004"
DOCSIS_3_0: Final = "docsis-3.0"
DOCSIS_3_1: Final = "docsis-3.1"

NAMES: Final = (CABLELABS_2014, DOCSIS_1_1_004, DOCSIS_3_0, DOCSIS_3_1)
"""The names of the profiles that `named` makes."""

_US: Final = 1_000
_MS: Final = 1_000_000
_PS_PER_NS: Final = 1_000
_TWO_MS: Final = 2 * _MS
_LINE_RATE_2014: Final = 1_000_000_000
"""bit/s; the line of K1's rows."""

_FRAMES_3_1: Final = 15
"""OFDMA frames of a MAP: the default of docsis-ns3, 2.025 ms."""


def named(name: str) -> Profile:
    """A profile with its defaults.

    Raises:
        KeyError: There is none of that name.
    """
    made = {
        CABLELABS_2014: lambda: cablelabs_2014(_LINE_RATE_2014),
        DOCSIS_1_1_004: _docsis_1_1_004,
        DOCSIS_3_0: _docsis_3_0,
        DOCSIS_3_1: _docsis_3_1,
    }
    return made[name]()


def cablelabs_2014(line_rate: int) -> Profile:
    """K1: without load an access takes (U + 2 + U') MAPs and the transmission.

    Args:
        line_rate: bit/s. The capacity is all of it, varied by 1%.

    Raises:
        ValueError: A MAP of 2 ms is not a whole number of bytes that divides into 100 to 2000
            minislots.
    """
    map_ps = _TWO_MS * _PS_PER_NS
    size, odd = divmod(line_rate, 4000)
    # The finest minislots of whole bytes and picoseconds.
    minislots = next((n for n in range(2000, 99, -1) if size % n == 0 and map_ps % n == 0), 0)
    if odd or not size or not minislots:
        raise ValueError(
            f"is {line_rate} bit/s, which does not divide into minislots of whole bytes; use a "
            "multiple of 400000 bit/s"
        )
    return Profile(
        name=CABLELABS_2014,
        clock=Clock(per_frame=1, frame_ps=map_ps // minislots),
        phy=Ofdma(minislot_bytes=size // minislots),
        map_minislots=minislots,
        stretch=False,
        contention_minislots=1,
        maintenance_minislots=0,
        request_minislots=1,
        contention_place=ContentionPlace.HEAD,
        extra_contention=False,
        collisions=False,
        grant_place=GrantPlace.RANDOM,
        capacity=Capacity(line_rate, variation_percent=1),
        backoff=Backoff(0, 0),
        tries=16,
        asking=Asking.QUEUE_DEPTH,
        packing=Packing.CONTINUOUS,
        concatenated_frames=MOST_CONCATENATED,
        fragmentation=True,
        piggyback=True,
        idle_proactive_grants=0,
        header=10,
        segment_header=0,
        timing=_two_maps(_TWO_MS),
    )


def _docsis_1_1_004() -> Profile:
    """Paper 004's channel, parameter for parameter, with MAPs of 2 ms."""
    minislot = 25 * _US
    return Profile(
        name=DOCSIS_1_1_004,
        clock=Clock(per_frame=1, frame_ps=minislot * _PS_PER_NS),
        phy=Flat(minislot_bytes=16, overhead=10),
        map_minislots=_TWO_MS // minislot,
        stretch=True,
        contention_minislots=12,
        maintenance_minislots=3,
        request_minislots=1,
        contention_place=ContentionPlace.HEAD,
        extra_contention=False,
        collisions=True,
        grant_place=GrantPlace.PACKED,
        capacity=None,
        backoff=Backoff(3, 7),
        tries=16,
        asking=Asking.ONE_BURST,
        packing=Packing.CONCATENATED,
        concatenated_frames=MOST_CONCATENATED,
        fragmentation=False,
        piggyback=False,
        idle_proactive_grants=0,
        header=6,
        segment_header=0,
        timing=_two_maps(_TWO_MS),
    )


def _docsis_3_0() -> Profile:
    """SC-QAM: 6.4 MHz, 5.12 Msymbol/s, 64-QAM, 30.72 Mbit/s before parity; MAPs of 2 ms."""
    bits, symbols = 6, 64
    propagation, cmts = 40 * _US, 200 * _US
    interleaver, demodulation = 660 * _US, 200 * _US
    safety = 200 * _US + _MS
    heard = propagation + demodulation
    to_modem = cmts + propagation + interleaver
    return Profile(
        name=DOCSIS_3_0,
        clock=Clock(per_frame=1, frame_ps=12_500_000),
        phy=ScQam(
            minislot_bits=symbols * bits,
            preamble_bits=52 * bits,
            guard_bits=8 * bits,
            codeword_data=223,
            codeword_parity=32,
        ),
        map_minislots=160,
        stretch=False,
        contention_minislots=8,
        maintenance_minislots=0,
        request_minislots=2,
        contention_place=ContentionPlace.HEAD,
        extra_contention=True,
        collisions=True,
        grant_place=GrantPlace.PACKED,
        capacity=None,
        backoff=Backoff(3, 7),
        tries=16,
        asking=Asking.QUEUE_DEPTH,
        packing=Packing.CONTINUOUS,
        concatenated_frames=MOST_CONCATENATED,
        fragmentation=True,
        piggyback=True,
        idle_proactive_grants=0,
        header=10,
        segment_header=8,
        timing=Timing(
            map_ahead=to_modem + safety,
            map_to_modem=to_modem,
            map_processing=650 * _US,
            request_heard=heard,
            piggyback_heard=heard,
            delivery=heard,
            burst_preparation=200 * _US,
            ack_before_start=to_modem + safety + heard + 12_500,
            map_with_previous=False,
        ),
    )


def _docsis_3_1() -> Profile:
    """OFDMA with the defaults of docsis-ns3: frames of 135 us, 15 of them a MAP."""
    symbol = 20_000 + 2_500
    frame = 6 * symbol
    per_frame = 235
    propagation = 40 * _US
    modem = 600 * _US + frame + symbol
    to_modem = 200 * _US + 45 * _US + 3 * symbol + propagation
    return Profile(
        name=DOCSIS_3_1,
        clock=Clock(per_frame=per_frame, frame_ps=frame * _PS_PER_NS),
        phy=Ofdma(minislot_bytes=48),
        map_minislots=_FRAMES_3_1 * per_frame,
        stretch=False,
        contention_minislots=1,
        maintenance_minislots=0,
        request_minislots=1,
        contention_place=ContentionPlace.RANDOM_FRAME,
        extra_contention=False,
        collisions=True,
        grant_place=GrantPlace.RANDOM,
        capacity=None,
        backoff=Backoff(0, 7),
        tries=16,
        asking=Asking.QUEUE_DEPTH,
        packing=Packing.CONTINUOUS,
        concatenated_frames=MOST_CONCATENATED,
        fragmentation=True,
        piggyback=True,
        idle_proactive_grants=0,
        header=10,
        segment_header=0,
        timing=Timing(
            map_ahead=to_modem + modem,
            map_to_modem=to_modem,
            map_processing=modem,
            request_heard=propagation + 2 * frame,
            piggyback_heard=propagation + frame,
            delivery=propagation + frame,
            burst_preparation=frame,
            ack_before_start=12 * frame,
            map_with_previous=False,
        ),
    )


def _two_maps(map_time: int) -> Timing:
    """Nothing takes time but MAPs: what is asked for in one is granted in the second behind it."""
    return Timing(
        map_ahead=map_time,
        map_to_modem=0,
        map_processing=0,
        request_heard=0,
        piggyback_heard=0,
        delivery=0,
        burst_preparation=0,
        ack_before_start=map_time,
        map_with_previous=True,
    )
