# SPDX-License-Identifier: Apache-2.0
"""Calls in the calling thread, against grpcio's server and against one that obeys no rule."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from h2.connection import H2Connection
from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_control.p4rt import calls as p4rt_calls
from docsis_control.p4rt.answer import Failed
from docsis_control.p4rt.calls import Broken, Calls
from docsis_control.p4rt.errors import explain

ECHO, PARTS, REFUSE, HOLD = (
    f"/test.Service/{name}" for name in ("Echo", "Parts", "Refuse", "Hold")
)


def _parts(request: bytes, context: Any) -> Iterator[bytes]:
    for size in struct.unpack(f">{len(request) // 4}I", request):
        yield b"\x07" * size


def _refuse(request: bytes, context: Any) -> bytes:
    context.set_trailing_metadata((("grpc-status-details-bin", request),))
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no rÖom: 100%")
    raise AssertionError


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def server(held: threading.Event) -> Iterator[Any]:
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


def test_a_refusal_is_told_as_grpcio_tells_it(calls: Calls) -> None:
    for _ in range(2):
        with pytest.raises(Failed) as failed:
            calls.call(REFUSE, bytes(range(256)))
        assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert failed.value.details() == "no rÖom: 100%"
        assert ("grpc-status-details-bin", bytes(range(256))) in failed.value.trailing_metadata()
    with pytest.raises(Failed) as failed:
        calls.call("/test.Service/Nothing", b"")
    assert "UNIMPLEMENTED" in str(explain(failed.value, "a call"))
    # The connection is as good as before.
    assert calls.call(ECHO, b"ok") == [b"ok"]


def test_large_trailers_come_whole(calls: Calls) -> None:
    # Error details of a batch of thousands.
    details = bytes(size % 256 for size in range(300_000))
    with pytest.raises(Failed) as failed:
        calls.call(REFUSE, details)
    assert ("grpc-status-details-bin", details) in failed.value.trailing_metadata()


def test_the_server_may_go_on_as_answers_are_taken(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each is nearly all that may come at a time, and together they are many times that.
    monkeypatch.setattr(p4rt_calls, "_LARGEST_ANSWER", 100_000)
    calls = Calls(server.address, 20.0)
    for _ in range(20):
        (part,) = calls.call(PARTS, struct.pack(">I", 99_000))
        assert len(part) == 99_000
    calls.close()


def test_it_connects_again_when_the_numbers_of_streams_have_run_out(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(H2Connection, "HIGHEST_ALLOWED_STREAM_ID", 5)
    for number in range(10):
        assert calls.call(ECHO, bytes((number,))) == [bytes((number,))]


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


def block(*headers: tuple[bytes, bytes]) -> bytes:
    """In plain text, kept in no table (RFC 7541, 6.2.2)."""
    texts = [bytes((len(text),)) + text for header in headers for text in header]
    return b"".join(b"\0" + texts[at] + texts[at + 1] for at in range(0, len(texts), 2))


OK_HEAD = frame(1, 4, 1, b"\x88")
OK_END = frame(1, 5, 1, block((b"grpc-status", b"0")))
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
        # Something that comes before the answer, and a reset behind it.
        frame(1, 4, 1, block((b":status", b"103"))) + OK_HEAD + SAID + OK_END,
        OK_HEAD + SAID + OK_END + frame(3, 0, 1, b"\0\0\0\0"),
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
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 9, "HTTP/2: |closed"),
        (frame(1, 5, 1, b"\xff\xff\xff\xff\xff\xff"), "decoding header block"),
        (frame(1, 5, 1, b"\xbe"), "decoding header block"),
        (frame(1, 5, 1, b"\x20\x3f\xff\xff\x03"), "decoding header block"),
        (frame(1, 5, 1, block((b"Upper", b"case"))), "HTTP/2: "),
        (frame(1, 0, 1, b"\x88") + SAID, "during header block"),
        (frame(0, 0, 1, bytes(1 << 15)), "length 32768"),
        (SAID + OK_END, "HTTP/2: "),
        (OK_HEAD + frame(0, 0, 7, b"none"), "HTTP/2: "),
        (frame(5, 4, 1, b"\0\0\0\2\x88"), "pushed"),
        (frame(4, 0, 0, b"\0\4\xff\xff\xff\xff"), "HTTP/2: "),
        (frame(8, 0, 0, b"\x7f\xff\xff\xff"), "HTTP/2: "),
        (frame(8, 0, 1, b"\0\0\0\0"), "HTTP/2: "),
        (frame(7, 0, 0, b"\0\0\0\0\0\0\0\x0benough"), r"goes away \(HTTP/2 error 11\) enough"),
        (frame(7, 0, 0, b"\0\0\0\1\0\0\0\0"), r"goes away \(HTTP/2 error 0\)"),
        (OK_HEAD + SAID, "closed the connection"),
        (frame(3, 0, 1, b"\0\0\0\7"), "reset the call"),
        (frame(1, 5, 1, b"\x8d"), "HTTP status 404"),
        (OK_HEAD + frame(0, 0, 1, b"\0\0\0\0\x09hi") + OK_END, "cut or compressed"),
        (OK_HEAD + frame(0, 0, 1, b"\1\0\0\0\x02hi") + OK_END, "cut or compressed"),
        (OK_HEAD + frame(1, 5, 1, block((b"grpc-status", b"x"))), "UNKNOWN"),
    ],
)
def test_what_is_no_answer_is_said(answer: bytes, words: str) -> None:
    with peer(answer, say_no_more) as address:
        calls = Calls(address, 10.0)
        with pytest.raises((Broken, Failed), match=words):
            calls.call(ECHO, b"")
        calls.close()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=80))
def test_nothing_that_is_sent_does_more_than_fail(answer: bytes) -> None:
    with peer(answer) as address:
        calls = Calls(address, 10.0)
        with pytest.raises((Broken, Failed)):
            calls.call(ECHO, b"")
        calls.close()


def test_a_small_block_of_huge_headers_ends_it() -> None:
    # A value that the table keeps, and which is then named hundreds of times with a byte each.
    bomb = b"\x88\x40\x01a\x7f\xa1\x1e" + b"a" * 4000 + b"\xbe" * 300
    with peer(frame(1, 5, 1, bomb), listen) as address:
        calls = Calls(address, 10.0)
        with pytest.raises(Broken, match="Oversized header block"):
            calls.call(ECHO, b"")
        calls.close()


@pytest.mark.parametrize("size", [0, 16_384])
def test_endless_headers_end(size: int) -> None:
    def flood(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(frame(9, 0, 1, bytes(size)))

    with peer(frame(1, 0, 1, b"\x88"), flood) as address:
        calls = Calls(address, 10.0)
        with pytest.raises(Broken, match="continuation"):
            calls.call(ECHO, b"")
        calls.close()


def test_what_comes_late_of_a_call_does_not_disturb_the_next() -> None:
    answer = frame(1, 4, 3, b"\x88") + frame(0, 0, 3, SAID[9:])
    answer += frame(1, 5, 3, block((b"grpc-status", b"0")))
    late = frame(8, 0, 1, b"\0\0\1\0") + frame(0, 0, 1, b"late") + frame(3, 0, 1, bytes(4))

    def serve(connection: socket.socket) -> None:
        heard = bytearray()
        # The call is given up, and the next one begins.
        for wanted in (frame(3, 0, 1, b"\0\0\0\x08"), b"\x01\x04\0\0\0\x03"):
            while wanted not in heard:
                heard += connection.recv(1 << 16)
        connection.sendall(late + answer)
        listen(connection)

    # It answers before it has heard the request, of which it takes no more than the first window.
    refused = frame(1, 5, 1, b"\x88" + block((b"grpc-status", b"8")))
    with peer(refused, serve) as address:
        calls = Calls(address, 10.0)
        with pytest.raises(Failed, match="RESOURCE_EXHAUSTED"):
            calls.call(ECHO, bytes(200_000))
        assert calls.call(ECHO, b"") == [b"hi"]
        calls.close()


def test_there_are_no_calls_after_a_farewell() -> None:
    with peer(OK_HEAD + SAID + OK_END + frame(7, 0, 0, b"\0\0\0\1" + bytes(4)), listen) as address:
        calls = Calls(address, 10.0)
        assert calls.call(ECHO, b"") == [b"hi"]
        with pytest.raises(Broken, match="goes away"):
            calls.call(ECHO, b"")


def test_a_server_that_hardly_listens_has_no_more_time() -> None:
    given_up = threading.Event()

    def dawdle(connection: socket.socket) -> None:
        while not given_up.wait(0.01):
            connection.recv(1)

    windows = frame(4, 0, 0, b"\0\4\x7f\xff\xff\xff") + frame(8, 0, 0, b"\x7f\xfe\0\0")
    with peer(windows, dawdle) as address:
        calls = Calls(address, 0.3)
        with pytest.raises(Broken, match="no answer within 0.3 s"):
            calls.call(ECHO, bytes(50_000_000))
        given_up.set()


def test_an_endless_answer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p4rt_calls, "_LARGEST_ANSWER", 100_000)

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
