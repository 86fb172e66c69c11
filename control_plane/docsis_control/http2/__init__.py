# SPDX-License-Identifier: Apache-2.0
"""gRPC calls over HTTP/2 in the calling thread: one at a time, and nothing runs between them.

grpcio has threads of its own, which hand every answer on before its caller sees it. The control
loop's thread waits at the socket itself.
"""

from docsis_control.http2.calls import Broken, Calls, Failed

__all__ = ["Broken", "Calls", "Failed"]
