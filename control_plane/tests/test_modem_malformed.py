# SPDX-License-Identifier: Apache-2.0
"""Damaged configuration files: each is read or refused with a sentence, never worse."""

import random
import tracemalloc
from pathlib import Path
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docsis_control.config import ConfigError
from docsis_control.modem_config import from_bytes, to_bytes
from docsis_control.modem_config.tlv import MAX_FILE

DATA = Path(__file__).parent / "data"
FILE = Path("modem.cfg")
SEED = 20261121


def read_or_refuse(data: bytes) -> bool:
    """Whether a file is read; then its bytes come back, and otherwise the error is a sentence."""
    refused = None
    try:
        decoded = from_bytes(data, FILE)
    except ConfigError as error:
        refused = error
    if refused is None:
        assert to_bytes(decoded.configuration, FILE) == data
        return True
    for problem in refused.problems:
        assert str(problem).startswith("modem.cfg: ")
        assert "\n" not in problem.message
        assert 10 < len(str(problem)) < 2000
    return False


def mutated(chance: random.Random, data: bytearray) -> bytes:
    """One to four changes of a kind that files suffer."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data)) if data else 0
        kind = chance.randrange(6)
        if kind == 0 and data:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and data:
            data[at] = chance.choice((0, 1, 2, 127, 128, 254, 255, chance.randrange(256)))
        elif kind == 2:
            data[at:at] = chance.randbytes(chance.randint(1, 8))
        elif kind == 3:
            del data[at : at + chance.randint(1, 8)]
        elif kind == 4:
            data[at:at] = data[at : at + chance.randint(1, 60)]
        elif len(data) > 1:
            del data[chance.randrange(1, len(data)) :]
    return bytes(data)


# The long one finds what one file in 50,000 is wrong with, in 20 seconds and more.
@pytest.mark.parametrize("mutations", [5_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_mutations(mutations: int) -> None:
    chance = random.Random(SEED)
    seeds = [(DATA / f"{name}.cfg").read_bytes() for name in ("modem", "modem-every-key")]
    read = sum(
        read_or_refuse(mutated(chance, bytearray(seeds[index % 2]))) for index in range(mutations)
    )
    # Some changes hit what any value is right for.
    assert 0.01 * mutations < read < 0.5 * mutations


@pytest.mark.parametrize("name", ["modem", "modem-every-key"])
def test_every_truncation_is_refused(name: str) -> None:
    data = (DATA / f"{name}.cfg").read_bytes()
    end = data.rindex(b"\xff") + 1
    for length in range(end):
        assert not read_or_refuse(data[:length])
    for length in range(end, len(data)):
        assert read_or_refuse(data[:length])


@pytest.mark.parametrize("name", ["modem", "modem-every-key"])
def test_every_byte_in_turn(name: str) -> None:
    data = (DATA / f"{name}.cfg").read_bytes()
    for at in range(len(data)):
        for value in (0xFF, data[at] ^ 0x80):
            read_or_refuse(data[:at] + bytes((value,)) + data[at + 1 :])


@given(st.binary(max_size=400))
@example(b"\xff")
@example(b"\0\0\xff\0")
def test_noise(data: bytes) -> None:
    read_or_refuse(data)


LARGE = {
    "pads": bytes(MAX_FILE - 1) + b"\xff",
    "unknown TLVs": b"\xc8\x00" * (MAX_FILE // 2 - 1) + b"\xff",
    "long TLVs": (b"\x2b\xff" + bytes(255)) * 255 + b"\xff",
    "service flows": b"\x18\x07\x01\x02\x00\x01\x06\x01\x07" * (MAX_FILE // 9) + b"\xff",
    "empty service flows": b"\x18\x00" * (MAX_FILE // 2 - 1) + b"\xff",
    "classifiers in classifiers": b"\x16\xfe" + b"\x16\x00" * 127 + b"\xff",
    "service flows as many as can be": b"\x18\x07\x01\x02\x00\x01\x06\x01\x07" * 256 + b"\xff",
    "empty classifiers as many as can be": b"\x16\x00" * 256 + b"\xff",
    "deep nesting": (b"\x16\xff" * 127 + b"\xff") * 200,
}


@pytest.mark.parametrize("case", LARGE)
def test_time_and_memory_are_bounded(case: str) -> None:
    tracemalloc.start()
    started = process_time()
    try:
        read_or_refuse(LARGE[case])
        seconds = process_time() - started
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Ten times what it takes here, under tracemalloc; quadratic work would be minutes.
    assert seconds < 40
    assert peak < 200_000_000
