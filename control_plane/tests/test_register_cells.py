# SPDX-License-Identifier: Apache-2.0
"""Answers about registers taken apart by NumPy, and updates put together: what the protobuf library
says is the truth."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from finsy.proto import p4r
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.p4rt.entities import bitstring, register_entity
from docsis_control.p4rt.pipeline import PipelineError, load_pipeline
from docsis_control.p4rt.register_cells import Block, RegisterCells
from docsis_control.p4rt.register_updates import Updates

PIPELINE = load_pipeline("cm")
NAMES = [register.name for register in PIPELINE.schema.registers]
# One, two and three bytes on the wire; 0 is left out there.
INDEXES = (0, 1, 127, 128, 4095, 70_000)

Cell = tuple[str, int]

cells = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(INDEXES)), max_size=12, unique=True
)
values = st.integers(0, 55).flatmap(lambda bits: st.integers(0, 1 << bits))


def answer(asked: Sequence[Cell], said: Sequence[bytes]) -> Any:
    """A p4.v1.ReadResponse."""
    response = p4r.ReadResponse()
    for (name, index), value in zip(asked, said, strict=True):
        entity = register_entity(PIPELINE, name, index)
        entity.register_entry.data.bitstring = value
        response.entities.append(entity)
    return response


def split(response: Any, places: Sequence[int]) -> list[bytes]:
    """The same in several messages."""
    bounds = [0, *sorted(place % (len(response.entities) + 1) for place in places)]
    bounds.append(len(response.entities))
    return [
        p4r.ReadResponse(entities=response.entities[first:end]).SerializeToString()
        for first, end in itertools.pairwise(bounds)
    ]


def block_of(asked: Sequence[Cell]) -> Block:
    """Joins two pieces, as those of service flows are put together."""
    maker = RegisterCells(PIPELINE)
    return Block.joined([maker.block(asked[:3]), maker.block(asked[3:])])


@given(cells, st.data(), st.lists(st.integers(0, 20), max_size=3))
def test_values_are_those_of_the_answer(
    asked: list[Cell], data: st.DataObject, places: list[int]
) -> None:
    expected = data.draw(st.lists(values, min_size=len(asked), max_size=len(asked)))
    response = answer(asked, [bitstring(value) for value in expected])
    found = block_of(asked).values(split(response, places))
    assert found is not None
    assert found.tolist() == expected


@given(cells.filter(bool), st.data())
def test_other_answers_are_left_to_the_library(asked: list[Cell], data: st.DataObject) -> None:
    """Whatever an answer is, it is either read as the library reads it, or not at all."""
    said = [bitstring(data.draw(values)) for _ in asked]
    response = answer(asked, said)
    kind = data.draw(
        st.sampled_from(
            ["one more", "one less", "order", "long", "empty", "table", "longest", "cut", "byte"]
        )
    )
    place = data.draw(st.integers(0, len(asked) - 1))
    entity = response.entities[place]
    raw = None
    if kind == "one more":
        response.entities.append(entity)
    elif kind == "one less":
        del response.entities[place]
    elif kind == "order":
        response.entities.reverse()
    elif kind == "long":
        entity.register_entry.data.bitstring = bytes(9) + said[place]
    elif kind == "longest":
        entity.register_entry.data.bitstring = b"\xff" * 200
    elif kind == "empty":
        entity.register_entry.data.bitstring = b""
    elif kind == "table":
        entity.table_entry.table_id = 5
    else:
        raw = bytearray(response.SerializeToString())
        where = data.draw(st.integers(0, len(raw) - 1))
        if kind == "cut":
            del raw[where:]
        else:
            raw[where] ^= data.draw(st.integers(1, 255))
    found = block_of(asked).values([bytes(raw) if raw else response.SerializeToString()])
    if found is None:
        return
    read = p4r.ReadResponse.FromString(bytes(raw)) if raw else response
    ids = {register.id: register.name for register in PIPELINE.schema.registers}
    assert [
        (ids[each.register_entry.register_id], each.register_entry.index.index)
        for each in read.entities
    ] == asked
    assert found.tolist() == [
        int.from_bytes(each.register_entry.data.bitstring, "big") for each in read.entities
    ]


@given(cells.filter(bool))
def test_the_request_is_the_librarys(asked: list[Cell]) -> None:
    request = p4r.ReadRequest(entities=[register_entity(PIPELINE, *cell) for cell in asked])
    assert block_of(asked).request == request.SerializeToString()


@given(cells.filter(bool), st.data())
def test_updates_are_the_librarys(known: list[Cell], data: st.DataObject) -> None:
    """Any of the cells in any order, some of them twice, with any value of up to 63 bits."""
    maker = RegisterCells(PIPELINE)
    updates = Updates.joined([maker.updates(known[:3]), maker.updates(known[3:])])
    chosen = data.draw(st.lists(st.integers(0, len(known) - 1), max_size=20))
    long = st.integers(0, 63).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))
    given_values = data.draw(st.lists(long, min_size=len(chosen), max_size=len(chosen)))
    expected = p4r.WriteRequest(
        updates=[
            p4r.Update(
                type=p4r.Update.MODIFY, entity=register_entity(PIPELINE, *known[place], value)
            )
            for place, value in zip(chosen, given_values, strict=True)
        ]
    )
    encoded = updates.encode(np.array(chosen, np.intp), np.array(given_values, np.int64))
    assert encoded == expected.SerializeToString()


def test_a_value_below_0_is_one_that_does_not_fit() -> None:
    updates = RegisterCells(PIPELINE).updates([(NAMES[0], 1)])
    request = p4r.WriteRequest.FromString(updates.encode(np.array([0]), np.array([-1])))
    [update] = request.updates
    assert update.entity.register_entry.data.bitstring == b"\xff" * 8


@given(st.integers(1, 127), st.sampled_from(INDEXES), st.binary(min_size=7, max_size=7))
def test_a_value_that_looks_like_an_entity_is_read_as_a_value(
    register: int, index: int, tail: bytes
) -> None:
    """Values that begin as an entity's keys do, in front of and behind others."""
    name = NAMES[register % len(NAMES)]
    for size in range(3, 8):
        value = bytes([0x5A, size - 2 & 0xFF, 0x08]) + tail[: size - 3]
        asked = [(name, index), (name, 4000), (name, 4001)]
        response = answer(asked, [value, b"\x01", value])
        found = block_of(asked).values([response.SerializeToString()])
        number = int.from_bytes(value, "big")
        assert found is None or found.tolist() == [number, 1, number]
        # One such value does not leave a whole answer to the library, unless its length fits, too.
        if size != 3:
            other = bytes([0x5A, 0x77, 0x08]) + tail[: size - 3]
            response = answer(asked, [other, b"\x01", other])
            assert block_of(asked).values([response.SerializeToString()]) is not None


def test_a_register_that_is_not_there() -> None:
    with pytest.raises(PipelineError, match='no register "nothing"'):
        RegisterCells(PIPELINE).block([("nothing", 1)])
    with pytest.raises(PipelineError, match='no register "nothing"'):
        RegisterCells(PIPELINE).updates([("nothing", 1)])
