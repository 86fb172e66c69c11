# SPDX-License-Identifier: Apache-2.0
"""The handlers of the page's HTTP requests: system, history, traces, and actions."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, Final

import grpc
from tornado.web import HTTPError, RequestHandler

from docsis_control.digits import decimal
from docsis_control.queue_managers.names import Preset
from docsis_live import actions
from docsis_live.drops import SECONDS, Catch, Drops
from docsis_live.guard import TOKEN_HEADER, Guard
from docsis_live.history import Rows
from docsis_live.hub import MOST_UPDATE_BYTES, Hub
from docsis_live.sampler import INTERVAL_SECONDS
from docsis_live.samples import COLUMNS

_POLICY: Final = (
    # BokehJS sets styles; nothing else comes from elsewhere than this page's own files.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


_LAST_NUMBER: Final = 10**15 - 1
"""The greatest row of a history, or packet, that a page asks for."""


class Shared:
    """The objects that all handlers use.

    Attributes:
        hub: The hub, which has the samples.
        guard: The guard, which knows who may act.
        actor: Does it.
        drops: The drops that were caught.
        catching: The catch that goes on, if one does.
        refresh: Has the sampler look for what has changed.
        instance: Another one is another process.
    """

    def __init__(self, hub: Hub, guard: Guard, actor: actions.Actor) -> None:
        self.hub = hub
        self.guard = guard
        self.actor = actor
        self.drops = Drops()
        # Rows of another process have other numbers.
        self.instance = secrets.token_hex(8)
        self.catching: Catch | None = None
        self.refresh: Callable[[], None] = lambda: None


class Handler(RequestHandler):
    def initialize(self, shared: Shared) -> None:
        self.shared = shared

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        refusal = self.shared.guard.refusal(self.request.host, self.request.headers.get("Origin"))
        if refusal:
            self.refuse(403, refusal)

    def refuse(self, status: int, sentence: str) -> None:
        """Answers with a sentence."""
        self.set_status(status)
        self.finish({"error": sentence})

    def write_error(self, status_code: int, **_more: Any) -> None:
        failed = status_code >= 500
        what = "The page made an error; its log says more" if failed else "There is nothing here"
        self.finish({"error": f"{what} (HTTP {status_code})."})

    def json(self, text: bytes) -> None:
        """Answers with JSON."""
        self.set_header("Content-Type", "application/json")
        self.finish(text)


class SystemPage(Handler):
    """Answers with the system: everything but service flows."""

    async def get(self) -> None:
        hub = self.shared.hub
        traffic = await asyncio.to_thread(self.shared.actor.traffic)
        self.finish(
            {
                "system": None if hub.system is None else hub.system.overview(),
                "trouble": hub.trouble,
                "instance": self.shared.instance,
                "columns": COLUMNS,
                "interval_ms": round(INTERVAL_SECONDS * 1e3),
                "may_act": self.shared.guard.token is not None,
                "presets": [{"name": one.value, "label": one.label} for one in Preset],
                "traffic": traffic,
            }
        )


class ModemPage(Handler):
    """A modem's service flows."""

    def get(self) -> None:
        system = self.shared.hub.system
        name = self.get_query_argument("name", "")
        if system is None or name not in system.modems:
            self.refuse(404, "There is no modem of that name.")
            return
        self.finish(system.detail(name))


class HistoryPage(Handler):
    """Rows of a modem that were sent before, at most 64 kB at a time."""

    def get(self) -> None:
        hub = self.shared.hub
        modem = self.get_query_argument("modem", "")
        rows = hub.history.of(modem)
        if rows is None and hub.system is not None and modem in hub.system.modems:
            # Nobody has looked at it yet.
            rows = Rows()
        since = decimal(self.get_query_argument("since", "0"), _LAST_NUMBER)
        if rows is None or since is None:
            self.refuse(404, "There is no history of a modem of that name from that row on.")
            return
        texts, following = rows.since(since, MOST_UPDATE_BYTES - 100)
        more = b"null" if following is None else str(following).encode()
        self.json(b'{"rows":' + texts + b',"next":' + more + b"}")


class TracePage(Handler):
    """The trace of a packet that was dropped."""

    def get(self) -> None:
        packet = decimal(self.get_query_argument("id", ""), _LAST_NUMBER)
        drop = None if packet is None else self.shared.drops.get(packet)
        if drop is None:
            self.refuse(404, "This packet is not kept any more.")
            return
        self.finish({"id": drop.number, "reason": drop.reason, "text": drop.text})


class ActPage(Handler):
    """Does something, for whoever has the token."""

    async def post(self) -> None:
        shared = self.shared
        refusal = shared.guard.act_refusal(self.request.headers.get(TOKEN_HEADER))
        if refusal:
            self.refuse(403, refusal)
            return
        try:
            act = actions.parse(self.request.body)
            if isinstance(act, actions.Catch):
                self.finish({"text": await self._catch(act)})
                return
            done = await asyncio.to_thread(shared.actor.act, act)
        except actions.ActionError as error:
            self.refuse(409, str(error))
            return
        self._tell(done)
        self.finish({"text": done.text, "at_ms": done.at_ms})

    def _tell(self, done: actions.Done) -> None:
        hub = self.shared.hub
        sfid = None
        if done.reference and hub.system is not None and done.modem in hub.system.modems:
            for flow in hub.system.modems[done.modem].service_flows:
                same = flow.service_flow_reference == done.reference
                if same and flow.direction == done.direction:
                    sfid = flow.sfid
        if done.modem:
            hub.mark(done.modem, sfid, done.text, done.at_ms)
        if done.traffic is not None:
            hub.tell("traffic", done.traffic)
        self.shared.refresh()

    async def _catch(self, act: actions.Catch) -> str:
        shared = self.shared
        system = shared.hub.system
        if system is None or act.device not in system.devices:
            raise actions.ActionError("there is no switch of that name")
        if shared.catching is not None:
            raise actions.ActionError("packets are being traced already; wait for its end")
        device = system.devices[act.device]
        loop = asyncio.get_running_loop()
        shared.catching = going_on = Catch(device)

        def keep(trace: str) -> None:
            shared.drops.add(device.name, trace)
            shared.hub.tell("drops", shared.drops.listed())

        def caught(trace: str) -> None:
            loop.call_soon_threadsafe(keep, trace)

        try:
            count = await asyncio.to_thread(going_on.run, caught)
        except grpc.RpcError as error:
            raise actions.ActionError(f"{device.name} does not trace: {error}") from None
        finally:
            shared.catching = None
        return f"{count} dropped packets of {device.name} were traced within {SECONDS:g} s"


class Nothing(Handler):
    """Answers requests for pages that do not exist."""

    def prepare(self) -> None:
        super().prepare()
        if not self._finished:
            raise HTTPError(404)
