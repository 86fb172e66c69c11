# SPDX-License-Identifier: Apache-2.0
"""Random states of DOCSIS-PIE's data path, near its edges, as the registers have them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from docsis_ptf.drop_early import MAX_BURST, MEAN_PKTSIZE, ONE, SUPPRESSED_BELOW, Pie, Status
from docsis_ptf.renewal import DROP_PROB_MAX, PROB_HIGH, PROB_LOW

LENGTHS: Final = (64, 65, 218, 512, 1023, 1024, 1025, 1500, 1522)
LATENCY_TARGETS: Final = (1_000, 5_000, 10_000, 255_000)
LARGEST_BUFFER: Final = 200_000
_WORD: Final = 1 << 32
_SEQUENCES: Final = 1 << 30


@dataclass(frozen=True)
class Config:
    """The provisioned part of a state."""

    buffer_size: int
    latency_target: int


@dataclass(frozen=True)
class Registers:
    """A state as the registers have it (docs/p4-contract.md, "Registers")."""

    sf_enqueued_bytes: int
    sf_dequeued_bytes: int
    aqm_accu_prob: int
    aqm_data_state: int
    aqm_control_state: int
    aqm_drop_prob: int
    aqm_qdelay_old: int
    aqm_burst_allowance: int

    @property
    def backlog(self) -> int:
        """Bytes queued."""
        return (self.sf_enqueued_bytes - self.sf_dequeued_bytes) % _WORD

    def pie(self, config: Config) -> Pie:
        """The RFC's variables.

        Of two sequence numbers that differ the data path's state is in force, and with its ACTIVE
        the whole burst.
        """
        burst, state = self.aqm_burst_allowance, self.aqm_control_state
        if self.aqm_data_state >> 2 != self.aqm_control_state >> 2:
            state = self.aqm_data_state
            if state & 3 == Status.ACTIVE:
                burst = MAX_BURST
        return Pie(
            drop_prob=self.aqm_drop_prob,
            accu_prob=self.aqm_accu_prob,
            qdelay_old=self.aqm_qdelay_old,
            burst_allowance=burst,
            status=Status(state & 3),
            latency_target=config.latency_target,
            buffer_size=config.buffer_size,
        )

    def moved(self, before: Status, after: Status) -> int:
        """aqm_data_state behind a packet: each transition has a sequence number of its own."""
        if before is after:
            return self.aqm_data_state
        transitions = int(after) - int(before)
        return ((self.aqm_data_state >> 2) + transitions) % _SEQUENCES << 2 | after


def config(draw: Random) -> Config:
    """A buffer and a target."""
    return Config(draw.randint(3_000, LARGEST_BUFFER), draw.choice(LATENCY_TARGETS))


def state(draw: Random, given: Config, size: int) -> Registers:
    """A state that a packet of this size may find, more often than not near an edge."""
    buffer_size, half = given.buffer_size, given.latency_target // 2
    backlog = draw.choice((
        0,
        2 * MEAN_PKTSIZE + draw.randint(-1, 1),
        -(-buffer_size // 3) + draw.randint(-1, 1),
        max(buffer_size - size + draw.randint(-1, 1), 0),
        draw.randint(0, buffer_size),
        draw.randint(0, buffer_size),
    ))  # fmt: skip
    dequeued = draw.choice((draw.randrange(_WORD), _WORD - draw.randint(1, 2 * backlog + 2)))
    sequence = draw.choice((0, draw.randrange(_SEQUENCES), _SEQUENCES - 1))
    acknowledged = sequence if draw.random() < 0.75 else draw.randrange(_SEQUENCES)
    return Registers(
        sf_enqueued_bytes=(dequeued + backlog) % _WORD,
        sf_dequeued_bytes=dequeued,
        aqm_accu_prob=_accu_prob(draw),
        aqm_data_state=sequence << 2 | draw.randrange(3),
        aqm_control_state=acknowledged << 2 | draw.randrange(3),
        aqm_drop_prob=_drop_prob(draw),
        aqm_qdelay_old=draw.choice(
            (0, max(half - 1, 0), half, half + 1, draw.randint(0, 1_000_000), 1_000_000)
        ),
        aqm_burst_allowance=draw.choice((0, 0, 0, 0, 0, 1, MAX_BURST)),
    )


def _drop_prob(draw: Random) -> int:
    return draw.choice((
        0,
        1,
        SUPPRESSED_BELOW + draw.randint(-1, 0),
        round(ONE * 10 ** draw.uniform(-6, 0)),
        round(ONE * 10 ** draw.uniform(-1.5, 0)),
        round(ONE * draw.uniform(0.2, 1)),
        draw.randint(0, DROP_PROB_MAX),
    ))  # fmt: skip


def _accu_prob(draw: Random) -> int:
    return draw.choice((
        0,
        draw.randrange(PROB_LOW),
        PROB_LOW + draw.randint(-2, 1),
        draw.randint(PROB_LOW, PROB_HIGH),
        draw.randint(PROB_LOW, PROB_HIGH),
        draw.randint(PROB_LOW, PROB_HIGH),
        PROB_HIGH + draw.randint(-2, 1),
        _WORD - 1,
    ))  # fmt: skip
