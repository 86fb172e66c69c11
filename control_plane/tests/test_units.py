# SPDX-License-Identifier: Apache-2.0
"""Quantities with units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.config.units import (
    BufferLimit,
    format_bytes,
    format_duration,
    format_rate,
    format_share,
    parse_buffer,
    parse_bytes,
    parse_duration,
    parse_rate,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("20 Mbps", 20_000_000),
        ("20Mbps", 20_000_000),
        ("20 Mbit/s", 20_000_000),
        ("0.1 Mbps", 100_000),
        ("1.5 Gbps", 1_500_000_000),
        ("512 kbps", 512_000),
        ("0 bps", 0),
    ],
)
def test_rates(text: str, bits: int) -> None:
    assert parse_rate(text) == bits


@pytest.mark.parametrize(
    ("text", "nanoseconds"), [("250 ms", 250_000_000), ("0.5 us", 500), ("1 s", 10**9)]
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "size"), [("500 KB", 500_000), ("30 MB", 30_000_000), ("1522 B", 1522)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("20", "is not a data rate"),
        (20, "20 has no unit"),
        (True, "is not a data rate"),
        (None, "is not a data rate"),
        ("20 ms", '"ms" is not a unit of a data rate'),
        ("20 mbps", '"mbps" is not a unit'),
        ("-20 Mbps", "is not a data rate"),
        ("1e3 Mbps", "is not a data rate"),
        ("٢ Mbps", "is not a data rate"),
        ("0.0000001 Mbps", "finer than 1 bps"),
    ],
)
def test_refuses_what_is_no_rate(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rate(value)


@pytest.mark.parametrize(
    ("text", "millionths"),
    [("0.5 %", 5_000), ("2%", 20_000), ("100 %", 10**6), ("0 %", 0), ("7 ppm", 7)],
)
def test_shares(text: str, millionths: int) -> None:
    assert parse_share(text) == millionths


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("100.1 %", "more than 100 %"),
        ("0.00001 %", "finer than 1 ppm"),
        (0.5, "0.5 has no unit; write a share as a number and one of ppm, %"),
        ("-1 %", "is not a share"),
        ("1 percent", '"percent" is not a unit of a share'),
    ],
)
def test_refuses_what_is_no_share(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_share(value)


@given(st.integers(0, 10**6))
def test_formats_shares_without_loss(value: int) -> None:
    assert parse_share(format_share(value)) == value


@given(st.integers(0, 2**60))
def test_formats_without_loss(value: int) -> None:
    assert parse_rate(format_rate(value)) == value
    assert parse_duration(format_duration(value)) == value
    assert parse_bytes(format_bytes(value)) == value


def test_buffers() -> None:
    assert parse_buffer("250 ms").bytes_at(20_000_000) == 625_000
    assert parse_buffer("250 KB").bytes_at(20_000_000) == 250_000
    assert str(parse_buffer("250 ms")) == "250 ms"
    assert str(parse_buffer("0.25 MB")) == "250 KB"
    with pytest.raises(ValueError, match="unit of a size, a duration or a multiple like"):
        parse_buffer("250 Mbps")
    with pytest.raises(ValueError, match="either"):
        BufferLimit()


def test_a_buffer_in_bandwidth_delay_products() -> None:
    # 20 Mbit/s and a round trip of 50 ms are 125 KB.
    assert parse_buffer("1 BDP at 50 ms").bytes_at(20_000_000) == 125_000
    assert parse_buffer("2 BDP at 50 ms") == parse_buffer("100 ms")
    assert parse_buffer("0.5BDP at 25ms") == BufferLimit(time=12_500_000)
    for wrong, sentence in (
        ("2 BDP", "BDP"),
        ("2 BDP at 50", "is not a duration"),
        ("2 BDP at 50 KB", "not a unit of a duration"),
        ("-1 BDP at 50 ms", "is not a size, a duration or a multiple"),
        ("0.3 BDP at 1 ns", "finer than 1 ns"),
    ):
        with pytest.raises(ValueError, match=sentence):
            parse_buffer(wrong)
