# SPDX-License-Identifier: Apache-2.0
"""Addresses of switches that the controller accepts, and those that it refuses."""

import argparse

import pytest

from docsis_control.app import _address, _election_id, _switch_address


@pytest.mark.parametrize(
    "address", ["127.0.0.1:50051", "[::1]:50051", "unix:/run/docsis-p4/p4runtime/cm1.sock"]
)
def test_tcp_and_unix_sockets(address: str) -> None:
    assert _switch_address(f"cm1={address}") == ("cm1", address)


@pytest.mark.parametrize("text", ["cm1", "cm1=", "=unix:/x", "cm1=unix:", "cm1=127.0.0.1"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=HOST:PORT"):
        _switch_address(text)


def test_thrift_has_no_unix_sockets() -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        _address("cm1=unix:/x")


@pytest.mark.parametrize("number", [1, 7, 2**128 - 1])
def test_election_ids(number: int) -> None:
    assert _election_id(str(number)) == number


@pytest.mark.parametrize(
    "text", ["0", "-1", str(2**128), "9" * 5000, "x", "", "1.5", "\N{SUPERSCRIPT TWO}"]
)
def test_what_is_no_election_id_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"give 1 to 3402.* \(2\^128 - 1\)"):
        _election_id(text)
