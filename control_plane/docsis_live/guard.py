# SPDX-License-Identifier: Apache-2.0
"""The guard of the live page: this machine's own pages may look; whoever has the token may act.

A page of another host can make a browser send requests to loopback. Its Origin tells; and where a
name of its own points to 127.0.0.1 (DNS rebinding), the Host does.
"""

import hmac
import secrets
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_NAMES: Final = (LOOPBACK, "localhost")
_TOKEN_BYTES: Final = 16

TOKEN_HEADER: Final = "X-Docsis-Token"


class Guard:
    """Checks requests to one port.

    Attributes:
        token: Secret of those who may act; None where nobody may.
    """

    def __init__(self, port: int, *, may_act: bool) -> None:
        """Args: the port of the page, and whether there is a token."""
        self.token = secrets.token_urlsafe(_TOKEN_BYTES) if may_act else None
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    def refusal(self, host: str, origin: str | None) -> str:
        """Why a request is refused, in a sentence; "" where it is not.

        Args:
            host: Its Host, "" without one.
            origin: Its Origin, where it has one: browsers add it wherever it matters.
        """
        if host.lower() not in self._hosts:
            known = " or ".join(sorted(self._hosts))
            return f"This page answers as {known} only; open it by one of these addresses."
        if origin is not None and origin.lower() not in self._origins:
            return "A page of another host asked this; only this page itself may ask."
        return ""

    def act_refusal(self, token: str | None) -> str:
        """Why a request to act is refused, in a sentence; "" where it is not."""
        if self.token is None:
            return "This page only shows; nothing can be started or switched from it."
        if not token:
            return "There is no token; open the page by the address that was printed at the start."
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return "The token is wrong; the right one was printed at the start of this page."
        return ""
