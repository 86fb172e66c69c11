# SPDX-License-Identifier: Apache-2.0
"""Calls in the calling thread, against grpcio's server and against one that obeys no rule."""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_control.http2 import Broken, Calls, Failed, hpack
from docsis_control.http2 import calls as http2_calls
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError, explain
from docsis_control.p4rt.visits import Visits

ECHO, PARTS, REFUSE, HOLD = (
    f"/test.Service/{name}" for name in ("Echo", "Parts", "Refuse", "Hold")
)

# RFC 7541, appendix C.4 and C.6: strings in Huffman's code.
HUFFMAN = [
    (b"www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
    (b"no-cache", "a8eb10649cbf"),
    (b"custom-value", "25a849e95bb8e8b4bf"),
    (b"private", "aec3771a4b"),
    (b"Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
    (b"https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"),
]


@pytest.mark.parametrize(("text", "code"), HUFFMAN)
def test_decodes_huffman(text: bytes, code: str) -> None:
    assert hpack.huffman_decoded(bytes.fromhex(code)) == text


def huffman_encoded(text: bytes) -> bytes:
    codes = {byte: (length, code) for length, code, byte in hpack._codes()}
    bits = "".join(f"{codes[byte][1]:0{codes[byte][0]}b}" for byte in text)
    bits += "1" * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


@given(st.binary(max_size=40))
def test_decodes_every_byte(text: bytes) -> None:
    assert hpack.huffman_decoded(huffman_encoded(text)) == text


headers = st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=300)), max_size=5)


@given(headers)
def test_headers_come_back(given_headers: list[tuple[bytes, bytes]]) -> None:
    known = [*given_headers, (b":method", b"POST"), (b"grpc-status", b"0")]
    assert hpack.decoded(hpack.encoded(known)) == known


def test_reads_what_other_encoders_send() -> None:
    # RFC 7541, C.2.1 to C.2.4, whose indexing means nothing without a table, behind a size of 0.
    block = "20400a637573746f6d2d6b65790d637573746f6d2d686561646572"
    block += "040c2f73616d706c652f70617468100870617373776f72640673656372657482"
    assert hpack.decoded(bytes.fromhex(block)) == [
        (b"custom-key", b"custom-header"),
        (b":path", b"/sample/path"),
        (b"password", b"secret"),
        (b":method", b"GET"),
    ]


@given(st.binary(max_size=60))
def test_other_blocks_are_refused(block: bytes) -> None:
    try:
        hpack.decoded(block)
    except hpack.CompressionError:
        return


def _parts(request: bytes, context: Any) -> Iterator[bytes]:
    for size in struct.unpack(f">{len(request) // 4}I", request):
        yield b"\x07" * size


def _refuse(request: bytes, context: Any) -> bytes:
    context.set_trailing_metadata((("grpc-status-details-bin", bytes(range(256))),))
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no rÖom: 100%")
    raise AssertionError


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def server(held: threading.Event, tmp_path: Path) -> Iterator[Any]:
    """grpcio's, with bytes for messages."""

    def hold(request: bytes, context: Any) -> bytes:
        held.wait(30)
        return b""

    made = grpc.server(ThreadPoolExecutor(2), options=(("grpc.max_receive_message_length", -1),))
    handlers = {
        "Echo": grpc.unary_unary_rpc_method_handler(lambda request, context: request),
        "Parts": grpc.unary_stream_rpc_method_handler(_parts),
        "Refuse": grpc.unary_unary_rpc_method_handler(_refuse),
        "Hold": grpc.unary_unary_rpc_method_handler(hold),
    }
    made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Service", handlers),))
    made.address = f"127.0.0.1:{made.add_insecure_port('127.0.0.1:0')}"  # type: ignore[attr-defined]
    made.unix = f"unix:{tmp_path / 'server.sock'}"  # type: ignore[attr-defined]
    assert made.add_insecure_port(made.unix)  # type: ignore[attr-defined]
    made.start()
    yield made
    held.set()
    made.stop(None).wait()


@pytest.fixture
def calls(server: Any) -> Iterator[Calls]:
    made = Calls(server.address, 20.0)
    yield made
    made.close()


def test_answers_of_any_size_come_whole(calls: Calls) -> None:
    # Far beyond both sides' windows, and many calls on one connection.
    for size in (0, 1, 16_383, 16_384, 70_000, 3_000_000, 5):
        request = bytes(size % 251 for _ in range(min(size, 10))) * (size // 10) or b"x" * size
        assert calls.call(ECHO, request) == [request]
    sizes = (0, 3, 100_000, 1)
    assert [len(part) for part in calls.call(PARTS, struct.pack(">4I", *sizes))] == [*sizes]
    assert calls.call(PARTS, b"") == []


def test_a_unix_socket_is_as_good(server: Any, tmp_path: Path) -> None:
    for form in (server.unix, server.unix.replace("unix:", "unix://")):
        with contextlib.closing(Calls(form, 20.0)) as calls:
            for size in (0, 70_000):
                assert calls.call(ECHO, b"x" * size) == [b"x" * size]
    with pytest.raises(Broken, match="No such file"):
        Calls(f"unix:{tmp_path / 'none.sock'}", 1.0).call(ECHO, b"")


def test_a_refusal_is_told_as_grpcio_tells_it(calls: Calls) -> None:
    for _ in range(2):
        with pytest.raises(Failed) as failed:
            calls.call(REFUSE, b"")
        assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert failed.value.details() == "no rÖom: 100%"
        assert ("grpc-status-details-bin", bytes(range(256))) in failed.value.trailing_metadata()
    with pytest.raises(Failed) as failed:
        calls.call("/test.Service/Nothing", b"")
    assert "UNIMPLEMENTED" in str(explain(failed.value, "a call"))
    # The connection is as good as before.
    assert calls.call(ECHO, b"ok") == [b"ok"]


def test_no_answer_in_time_breaks_it(server: Any) -> None:
    calls = Calls(server.address, 0.2)
    with pytest.raises((Broken, Failed), match="no answer within 0.2 s|DEADLINE_EXCEEDED"):
        calls.call(HOLD, b"")
    calls.close()


def test_another_thread_ends_a_call(calls: Calls, held: threading.Event) -> None:
    threading.Timer(0.1, calls.end).start()
    begun = time.monotonic()
    with pytest.raises(Broken):
        calls.call(HOLD, b"")
    assert time.monotonic() - begun < 15
    with pytest.raises(Broken, match="closed"):
        calls.call(ECHO, b"")


def test_a_server_that_stops_breaks_it(server: Any, calls: Calls) -> None:
    assert calls.call(ECHO, b"1") == [b"1"]
    server.stop(None).wait()
    with pytest.raises((Broken, Failed)):
        calls.call(ECHO, b"2")


def test_nobody_there() -> None:
    with pytest.raises(Broken, match="refused"):
        Calls("127.0.0.1:1", 1.0).call(ECHO, b"")


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(
        ">I", stream
    ) + payload  # fmt: skip


OK_HEAD = frame(1, 4, 1, b"\x88")
OK_END = frame(1, 5, 1, hpack.encoded([(b"grpc-status", b"0")]))
SAID = frame(0, 0, 1, b"\0\0\0\0\x02hi")


def listen(connection: socket.socket) -> None:
    """Until the client has closed the connection."""
    while connection.recv(1 << 16):
        pass


def say_no_more(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_WR)
    listen(connection)


@contextmanager
def peer(answer: bytes, more: Callable[[socket.socket], None] = lambda peer: None) -> Iterator[str]:
    """A server that sends this, whatever it is asked, and closes the connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(20)
            connection.recv(1 << 16)
            connection.sendall(frame(4, 0, 0) + answer)
            more(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "answer",
    [
        OK_HEAD + SAID + OK_END,
        # A ping, settings, a window and a frame of a kind that nobody knows in between.
        OK_HEAD + frame(6, 0, 0, b"12345678") + frame(99, 0, 0, b"?") + SAID + OK_END,
        frame(8, 0, 0, b"\0\0\1\0") + OK_HEAD + frame(4, 0, 0, b"\0\4\0\0\0\0") + SAID + OK_END,
        # Padding, a priority, headers in two frames, a message in two.
        frame(1, 0x2C, 1, b"\1\0\0\0\0\0\x88x")
        + frame(0, 8, 1, b"\3\0\0\0\0\2hxxx") + frame(0, 0, 1, b"i")
        + frame(1, 1, 1, OK_END[9:12]) + frame(9, 4, 1, OK_END[12:]),
        # Something of an older stream.
        OK_HEAD + frame(0, 0, 7, b"older") + frame(3, 0, 7, b"\0\0\0\0") + SAID + OK_END,
    ],
)  # fmt: skip
def test_takes_what_a_server_may_send(answer: bytes) -> None:
    with peer(answer, listen) as address:
        calls = Calls(address, 10.0)
        assert calls.call(ECHO, b"") == [b"hi"]
        calls.close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 9, "frame of|closed"),
        (frame(1, 5, 1, b"\xff\xff\xff\xff\xff\xff"), "number|table"),
        (frame(1, 5, 1, b"\xbe"), "no header 62"),
        (frame(1, 0, 1, b"\x88") + SAID, "did not finish"),
        (struct.pack(">I", 1 << 20)[1:] + bytes(6), "frame of 1048576"),
        (frame(7, 0, 0, b"\0\0\0\0\0\0\0\x0benough"), r"goes away \(HTTP/2 error 11\) enough"),
        (OK_HEAD + SAID, "closed the connection"),
        (frame(3, 0, 1, b"\0\0\0\7"), "reset the call"),
        (frame(1, 5, 1, b"\x8d"), "HTTP status 404"),
        (OK_HEAD + frame(0, 0, 1, b"\0\0\0\0\x09hi") + OK_END, "cut or compressed"),
        (OK_HEAD + frame(0, 0, 1, b"\1\0\0\0\x02hi") + OK_END, "cut or compressed"),
        (OK_HEAD + frame(1, 5, 1, hpack.encoded([(b"grpc-status", b"x")])), "UNKNOWN"),
        # More digits than Python turns into a number.
        (OK_HEAD + frame(1, 5, 1, hpack.encoded([(b"grpc-status", b"9" * 5000)])), "UNKNOWN"),
    ],
)
def test_what_is_no_answer_is_said(answer: bytes, words: str) -> None:
    with peer(answer, say_no_more) as address:
        calls = Calls(address, 10.0)
        with pytest.raises((Broken, Failed), match=words):
            calls.call(ECHO, b"")
        calls.close()


@settings(max_examples=60)
@given(st.binary(max_size=80))
def test_nothing_that_is_sent_does_more_than_fail(answer: bytes) -> None:
    with peer(answer) as address:
        calls = Calls(address, 10.0)
        with pytest.raises((Broken, Failed)):
            calls.call(ECHO, b"")
        calls.close()


def test_an_endless_answer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_calls, "_LARGEST_ANSWER", 100_000)

    def flood(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(frame(0, 0, 1, b"\0" * 16_000))

    with peer(OK_HEAD, flood) as address:
        calls = Calls(address, 10.0)
        with pytest.raises(Broken, match="more than 100000 bytes"):
            calls.call(ECHO, b"")
        calls.close()


def test_a_server_that_trickles_has_no_more_time() -> None:
    def trickle(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(frame(6, 1, 0, b"12345678"))
                time.sleep(0.01)

    with peer(OK_HEAD, trickle) as address:
        calls = Calls(address, 0.3)
        with pytest.raises(Broken, match="no answer within 0.3 s"):
            calls.call(ECHO, b"")
        calls.close()


def test_visits_of_several_threads(server: Any) -> None:
    device = LocalDevice(Visits(server.address), "cm1", 1)
    with ThreadPoolExecutor(4) as several:
        requests = [bytes([number]) * 1000 for number in range(20)]
        answers = several.map(lambda each: completed(device.call("echoing", ECHO, each)), requests)
        assert [*answers] == [[each] for each in requests]
    # Details that are none of gRPC's are left out.
    with pytest.raises(P4RuntimeError, match="asking on device 1, cm1 failed: .*: no rÖom: 100%"):
        completed(device.call("asking", REFUSE, b""))


def test_visit_of_nobody_is_a_lost_connection() -> None:
    device = LocalDevice(Visits("127.0.0.1:1"), "cm1", 1)
    with pytest.raises(ConnectionLost, match="no way to device 1, cm1: .*refused"):
        completed(device.call("asking", ECHO, b""))


def test_what_waits_is_not_completed() -> None:
    with pytest.raises(AssertionError, match="somebody wait"):
        completed(asyncio.sleep(0))
