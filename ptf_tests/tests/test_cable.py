# SPDX-License-Identifier: Apache-2.0
"""The time that a cable takes is not a switch's, and an interface tells how fast it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyroute2.ethtool.ioctl import NotSupportedError

from docsis_ptf import cable


class Ethtool:
    """An interface whose driver says this speed, Mbit/s; None: it does not know the question."""

    def __init__(self, said: int | None) -> None:
        self.said = said

    def __call__(self, interface: str) -> Ethtool:
        return self

    def get_link_settings(self) -> SimpleNamespace:
        if self.said is None:
            raise NotSupportedError("tunnel0")
        return SimpleNamespace(speed=self.said)

    def close(self) -> None:
        """Does what a socket does."""


@pytest.mark.parametrize(
    ("said", "speed"),
    [
        (2500, 2_500_000_000),
        (100_000, 100_000_000_000),
        (0xFFFFFFFF, cable.ASSUMED),
        (0, cable.ASSUMED),
        (None, cable.ASSUMED),
    ],
)
def test_speed(said: int | None, speed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cable, "IoctlEthtool", Ethtool(said))
    assert cable.speed("eth1") == speed


def test_an_interface_without_a_speed() -> None:
    assert cable.speed("lo") == cable.ASSUMED


def test_a_gigabit_takes_a_millisecond_for_a_hundred_frames() -> None:
    # A frame of 1500 bytes has 1520 byte times, and the first one is there when time begins.
    assert cable.behind_the_first_ns(100, 1500, 1_000_000_000) == pytest.approx(99 * 12_160)
    assert cable.behind_the_first_ns(1, 1500, 1_000_000_000) == 0
