# SPDX-License-Identifier: Apache-2.0
"""Switches that answer one method, for whoever asks them beside the controller."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc


@contextmanager
def switch(method: str, answers: Iterator[bytes] | None) -> Iterator[str]:
    """The address of a server that answers a method so, or does not know it."""

    class Handler(grpc.GenericRpcHandler):  # type: ignore[type-arg]
        def service(self, call: Any) -> Any:
            if answers is None or call.method != method:
                return None
            return grpc.unary_unary_rpc_method_handler(lambda *_: next(answers))

    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
