# SPDX-License-Identifier: Apache-2.0
"""The SNMP agent: its objects, and its protocol byte by byte."""

import dataclasses
import random
import re
from pathlib import Path
from typing import Any

import pytest
from pyasn1.codec.ber import decoder, encoder
from pysnmp.proto.api import v1, v2c
from snmp_tools import QOS, STATUS, many, numbers

from docsis_control.snmp.answer import LARGEST_RESPONSE, parse, respond
from docsis_control.snmp.objects import OBJECTS, tree
from docsis_control.snmp.tree import Oid, Syntax, Tree, Value


def request(kind: Any, *names: str | Oid, community: str = "public", **bulk: int) -> bytes:
    """A request as a manager encodes it."""
    pdu = kind()
    api = v2c.apiBulkPDU if bulk else v2c.apiPDU
    api.set_defaults(pdu)
    if bulk:
        api.set_non_repeaters(pdu, bulk["non_repeaters"])
        api.set_max_repetitions(pdu, bulk["repetitions"])
    api.set_varbinds(pdu, [(name, v2c.null) for name in names])
    message = v2c.Message()
    v2c.apiMessage.set_defaults(message)
    v2c.apiMessage.set_community(message, community)
    v2c.apiMessage.set_pdu(message, pdu)
    return bytes(encoder.encode(message))


def ask(datagram: bytes, answers: Tree | None) -> tuple[int, list[tuple[str, str]]]:
    """Error status, and names and values, of the response."""
    parsed = parse(datagram, b"public")
    assert parsed is not None
    response = respond(parsed, answers)
    assert len(response) <= LARGEST_RESPONSE
    message, rest = decoder.decode(response, asn1Spec=v2c.Message())
    assert not rest
    pdu = v2c.apiMessage.get_pdu(message)
    assert int(v2c.apiPDU.get_request_id(pdu)) == int(v2c.apiPDU.get_request_id(parsed.pdu))
    found = [(str(name), value.prettyPrint()) for name, value in v2c.apiPDU.get_varbinds(pdu)]
    return int(v2c.apiPDU.get_error_status(pdu)), found


def test_identifiers_are_ordered_as_numbers() -> None:
    answers = tree(many(12))
    order: list[Oid] = []
    at: Oid = ()
    while (behind := answers.after(at)) is not None:
        at = behind[0]
        order.append(at)
    assert order == sorted(order)
    assert len(order) == len(answers)
    # From between two instances, and from an instance that is not there.
    assert answers.after((1, 3, 6, 1, 2, 1, 1, 2)) == answers.after((1, 3, 6, 1, 2, 1, 1, 1, 0))
    assert answers.after((2,)) is None


def test_modems_are_interfaces() -> None:
    answers = tree(many(3))
    for if_index, name in ((2, "cm1"), (3, "cm2"), (4, "cm3")):
        value = answers.get((1, 3, 6, 1, 2, 1, 2, 2, 1, 2, if_index))
        assert value == Value(Syntax.OCTET_STRING, name)
        assert answers.get((*numbers(QOS), 4, 1, 8, if_index, if_index - 1)) is not None


def test_numbers_fit_their_types() -> None:
    modem = STATUS.modems[0]
    flow = modem.service_flows[0]
    assert flow.counters is not None
    large = dataclasses.replace(
        flow,
        provisioned=dataclasses.replace(
            flow.provisioned, peak_traffic_rate_bps=2**32, latency_target_ms=257.0
        ),
        counters=dataclasses.replace(
            flow.counters,
            dropped_policed=dataclasses.replace(flow.counters.dropped_policed, packets=2**32),
            dropped_aqm=dataclasses.replace(flow.counters.dropped_aqm, packets=2**64 - 1),
        ),
    )
    answers = tree(
        dataclasses.replace(
            STATUS,
            uptime_s=500 * 86400.0,
            modems=(dataclasses.replace(modem, service_flows=(large,)),),
        )
    )

    def found(oid: str) -> int | str | bytes | None:
        value = answers.get(numbers(oid))
        return None if value is None else value.value

    # What is no counter is left out rather than told wrong.
    assert found(f"{QOS}.2.1.37.2.1.1") is None
    assert found(f"{QOS}.2.1.43.2.1.1") is None
    # Counters go on at 0: three dropped for the buffer, 2^32 policed.
    assert found(f"{QOS}.4.1.6.2.1") == 3
    assert found(f"{QOS}.4.1.8.2.1") == 2**64 - 1
    assert found("1.3.6.1.2.1.1.3.0") == 500 * 8_640_000 - 2**32


def test_get_tells_what_is_missing() -> None:
    error, found = ask(
        request(v2c.GetRequestPDU, f"{QOS}.4.1.1.2.1", f"{QOS}.4.1.1.2.2", f"{QOS}.4.1.5.2.1"),
        tree(STATUS),
    )
    assert error == 0
    values = [value for _, value in found]
    assert values[0] == "1000"
    # The CMTS does not answer; nobody counts PHS.
    assert "Instance" in values[1]
    assert "Object" in values[2]


def test_bulk_repeats_and_ends() -> None:
    answers = tree(STATUS)
    error, found = ask(
        request(
            v2c.GetBulkRequestPDU,
            "1.3.6.1.2.1.1.1",
            f"{QOS}.4.1.2",
            f"{QOS}.4.1.8",
            non_repeaters=1,
            repetitions=3,
        ),
        answers,
    )
    assert error == 0
    assert [name for name, _ in found] == [
        "1.3.6.1.2.1.1.1.0",
        *(f"{QOS}.4.1.2.2.1", f"{QOS}.4.1.8.2.1"),
        *(f"{QOS}.4.1.6.2.1", f"{QOS}.4.1.8.2.1"),
        *(f"{QOS}.4.1.7.2.1", f"{QOS}.4.1.8.2.1"),
    ]
    assert "No more variables" in found[-1][1]
    # Rows of nothing but ends are not repeated.
    assert len(ask(bulk(["2.1"], 50), answers)[1]) == 1
    assert ask(bulk([], 50), answers) == (0, [])
    assert ask(bulk([f"{QOS}.4.1.8"], 0), answers) == (0, [])


def bulk(names: list[str | Oid], repetitions: int) -> bytes:
    return request(v2c.GetBulkRequestPDU, *names, non_repeaters=0, repetitions=repetitions)


def test_responses_are_bounded() -> None:
    answers = tree(many(200))
    error, found = ask(bulk(["1.3"], 2**31 - 1), answers)
    assert error == 0
    assert 100 < len(found) <= 256
    far: Oid = (2, *[2**32 - 1] * 120)
    # The ends of a view are told with the names that were asked for, which may be long.
    error, found = ask(bulk([far] * 60, 1), answers)
    assert error == 0
    assert 0 < len(found) < 60
    for kind, status in (
        (v2c.GetRequestPDU, 1),
        (v2c.GetNextRequestPDU, 1),
        (v2c.SetRequestPDU, 1),
    ):
        assert ask(request(kind, *[far] * 60), answers) == (status, [])


def test_is_read_only() -> None:
    error, _ = ask(request(v2c.SetRequestPDU, "1.3.6.1.2.1.1.1.0"), tree(STATUS))
    assert error == 17


def test_says_when_it_has_no_values() -> None:
    error, found = ask(request(v2c.GetRequestPDU, "1.3.6.1.2.1.1.1.0"), None)
    assert error == 5
    assert [name for name, _ in found] == ["1.3.6.1.2.1.1.1.0"]


def old_version() -> bytes:
    message, pdu = v1.Message(), v1.GetRequestPDU()
    v1.apiMessage.set_defaults(message)
    v1.apiPDU.set_defaults(pdu)
    v1.apiMessage.set_pdu(message, pdu)
    return bytes(encoder.encode(message))


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\x30",
        b"\x30\x80",
        b"\xff" * 1500,
        b"\x30\x82\xff\xff" * 16_000,
        b"\x30\x84\x7f\xff\xff\xff\x02\x01\x01",
        request(v2c.GetRequestPDU, "1.3.6.1.2.1.1.1.0", community="private"),
        request(v2c.GetRequestPDU, "1.3.6.1.2.1.1.1.0", community=""),
        request(v2c.GetRequestPDU, "1.3.6.1.2.1.1.1.0")[:-1],
        request(v2c.ResponsePDU, "1.3.6.1.2.1.1.1.0"),
        request(v2c.SNMPv2TrapPDU, "1.3.6.1.2.1.1.1.0"),
        old_version(),
    ],
)
def test_gives_no_answer_to(datagram: bytes) -> None:
    assert parse(datagram, b"public") is None


def test_survives_damaged_requests() -> None:
    answers = tree(STATUS)
    chance = random.Random(4323)
    whole = [
        request(v2c.GetRequestPDU, "1.3.6.1.2.1.1.1.0"),
        request(v2c.GetNextRequestPDU, "1.3", f"{QOS}.4"),
        bulk(["1.3", f"{QOS}.4"], 5),
        request(v2c.SetRequestPDU, "1.3.6.1.2.1.1.1.0"),
    ]
    answered = 0
    for _ in range(2000):
        damaged = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(damaged))
            match chance.randrange(3):
                case 0:
                    damaged[place] = chance.randrange(256)
                case 1:
                    damaged[place] ^= 1 << chance.randrange(8)
                case _:
                    del damaged[chance.randrange(len(damaged)) :]
                    damaged += b"\x30"
        parsed = parse(bytes(damaged), b"public")
        if parsed is not None:
            answered += 1
            assert len(respond(parsed, answers)) <= LARGEST_RESPONSE
    assert 100 < answered < 1900


def test_the_manual_names_what_is_served() -> None:
    """The table of docs/operator.md: each object with its number, and no other."""
    text = (Path(__file__).parents[2] / "docs" / "operator.md").read_text()
    served = {item.name: ".".join(map(str, item.oid)).removeprefix(f"{QOS}") for item in OBJECTS}
    rows = re.findall(r"^\| `(\w+)` \| `([0-9.]+)` \|", text, re.MULTILINE)
    assert len(rows) == len(served)
    assert dict(rows) == served
