# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE's data path against RFC 8034, appendix A.3, in random states, packet by packet.

Each service flow is put into a state of its own and gets one packet. Where the decision does not
depend on the RFC's random(), it has to be the same as a plain reading of the RFC's, and the state
behind it, too. Where it does, the state has to be one of two, and how often packets are dropped is
compared with the sum of their probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from random import Random
from typing import Any, ClassVar

from docsis_ptf import aqm_test, pie_states, statistics
from docsis_ptf.classifier_test import CLASSIFIER
from docsis_ptf.docsis_test import MODEM, Fates
from docsis_ptf.drop_early import Pie, enqueue
from docsis_ptf.entities import ACTIVE, Entry
from docsis_ptf.pie_states import Config, Registers
from docsis_ptf.renewal import PROB_HIGH

FLOWS = 48
ROUNDS = 20
FIRST_PORT = 6000
FATES = ("received", "forwarded", "buffer_full", "aqm")
"""What can become of a packet here; the test fails in time if it is anything else."""
RANGES = ((0.0, 0.15), (0.15, 0.5), (0.5, 1.0))
"""Probabilities of a drop that are compared together."""


class Decisions(aqm_test.AqmTest):
    """Drop or not, and the state behind it, as RFC 8034 A.3 has them."""

    needs: ClassVar[tuple[str, ...]] = ("registers",)
    comparisons = len(RANGES)

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"seeds": (1, 2, 3, 4)}]

    def doRunTest(self, seeds: Sequence[int]) -> None:
        self.flows = [self.new_index() for _ in range(FLOWS)]
        for number, index in enumerate(self.flows):
            self.believe_nothing(index)
            ports = (FIRST_PORT + number, FIRST_PORT + number)
            match: dict[str, Any] = {"modem": MODEM, "l4_dst_port": ports}
            rule = {"service_flow": index}
            self.insert(Entry(CLASSIFIER, "set_service_flow", rule, match, 10))
        self.insert_all([self.queue(index) for index in self.flows])
        # A controller that lives.
        self.control(self.flows[0], ACTIVE)
        # Of each packet whose fate is random: the chance of a drop, and whether it came.
        self.draws: list[tuple[float, bool]] = []
        for seed in seeds:
            self.many(Random(seed))
        for low, high in RANGES:
            chosen = [(chance, lost) for chance, lost in self.draws if low <= chance < high]
            chances = [chance for chance, _ in chosen]
            dropped = sum(lost for _, lost in chosen)
            what = f"drops of {len(chosen)} packets with chances from {low} to {high}"
            self.assert_within(dropped, statistics.bernoulli_sum(chances), what)

    def many(self, draw: Random) -> None:
        """Many rounds with one configuration."""
        configs = [pie_states.config(draw) for _ in self.flows]
        for index, config in zip(self.flows, configs, strict=True):
            self.client.modify(self.queue(index, aqm=True, **asdict(config)))
        for _ in range(ROUNDS):
            sizes = [draw.choice(pie_states.LENGTHS) for _ in self.flows]
            states = [
                pie_states.state(draw, config, size)
                for config, size in zip(configs, sizes, strict=True)
            ]
            self.one_each(configs, sizes, states)

    def one_each(
        self, configs: Sequence[Config], sizes: Sequence[int], states: Sequence[Registers]
    ) -> None:
        """One packet for each service flow."""
        self.client.set_registers([
            (name, index, value)
            for index, state in zip(self.flows, states, strict=True)
            for name, value in asdict(state).items()
        ])  # fmt: skip
        before = self.all_fates()
        stream = self.upstream(64)
        with self.deaf(), self.injector(self.near) as injector:
            for number, size in enumerate(sizes):
                one = replace(stream, length=size, dst_port=FIRST_PORT + number)
                injector.send(one.frames(1, number))
            rise: list[Fates] = []

            def done() -> bool:
                nonlocal rise
                rise = [b - a for a, b in zip(before, self.all_fates(), strict=True)]
                return sum(fates.finished for fates in rise) >= FLOWS

            self.poll("a fate of each packet", done)
        names = ("sf_enqueued_bytes", "sf_dequeued_bytes", "aqm_accu_prob", "aqm_data_state")
        found = self.client.registers([(n, index) for index in self.flows for n in names])
        for number in range(FLOWS):
            values = dict(zip(names, found[4 * number : 4 * number + 4], strict=True))
            self.compare(configs[number], sizes[number], states[number], rise[number], values)

    def all_fates(self) -> list[Fates]:
        """What became of the packets of each service flow."""
        cells = [(Fates.counter_of(fate), index) for index in self.flows for fate in FATES]
        counts = [count.packets for count in self.client.counters(cells)]
        rows = (counts[len(FATES) * n : len(FATES) * (n + 1)] for n in range(FLOWS))
        return [Fates(**dict(zip(FATES, row, strict=True))) for row in rows]

    def compare(
        self, config: Config, size: int, state: Registers, rise: Fates, found: dict[str, int]
    ) -> None:
        """One packet's fate, and the state that it left."""
        pie = state.pie(config)
        decision = enqueue(pie, size, state.backlog)
        said = f"a packet of {size} bytes, {state.backlog} queued, {pie}, {state}"
        lost = rise.aqm == 1
        self.assertEqual(
            rise,
            Fates(
                received=1,
                forwarded=int(not lost and not decision.full),
                buffer_full=int(decision.full),
                aqm=int(lost),
            ),
            said,
        )
        if decision.chance in (0, 1):
            self.assertEqual(lost, decision.chance == 1, said)
        else:
            self.draws.append((float(decision.chance), lost))
        behind: Pie = decision.dropped if lost or decision.full else decision.enqueued
        self.assert_accu_prob(found["aqm_accu_prob"], behind.accu_prob, said)
        moved = state.moved(pie.status, behind.status)
        self.assertEqual(found["aqm_data_state"], moved, said)
        went = size if rise.forwarded else 0
        for name in ("sf_enqueued_bytes", "sf_dequeued_bytes"):
            self.assertEqual(found[name], (getattr(state, name) + went) % (1 << 32), said)

    def assert_accu_prob(self, found: int, wanted: int, said: str) -> None:
        """Beyond PROB_HIGH it does not matter by how much: the register would wrap around."""
        if wanted >= PROB_HIGH:
            self.assertGreaterEqual(found, PROB_HIGH, said)
        else:
            self.assertEqual(found, wanted, said)
