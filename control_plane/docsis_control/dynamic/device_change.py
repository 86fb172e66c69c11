# SPDX-License-Identifier: Apache-2.0
"""Takes a running device from one plan to another, without a moment that has neither.

In this order:

1. the traffic manager gets queues for new service flows, and the rates and more sub-queues
   of changed ones; where there are upstream channels, their schedulers admit them, or refuse;
   indexes that new service flows take are cleared, registers and counters,
   and so are sub-queues that a service flow did not have before;
2. one batch of table entries, seen by packets as a whole where the target can do that; with it the
   pipeline's copies of buckets whose rate or depth changed become what the traffic manager has;
3. upstream channels remove the service flows, and the traffic manager the queues and
   sub-queues, that nothing names any more.

Until step 2 no packet goes another way than before, so a failure is undone by
giving the traffic manager and the channels back what they had. Where undoing fails, too,
nobody knows what the device has, and it has to get everything anew.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable
from typing import Any, Final

from docsis_control.law.law import law_of
from docsis_control.mac.client import UpstreamChannels
from docsis_control.mac.requests import change_between
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.entities import updates_between
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline, PipelineError
from docsis_control.plan import TOKENS_PER_BYTE, DevicePlan, ServiceFlow
from docsis_control.state.access import BucketState, StateAccess
from docsis_control.state.counters import CounterAccess
from docsis_control.state.packets import PacketAccess, without_own_registers
from docsis_control.tm.client import (
    QueueSetting,
    TrafficManager,
    sub_queues_of,
    without_flow_queues,
)

_LOG: Final = logging.getLogger(__name__)


class NotApplied(Exception):
    """A change was not made: everything is as it was, or a device is on its way back to that.

    The message says which device refused, and what each device has.

    Attributes:
        reason: Why, without what the device has.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        self.reason = reason or message
        super().__init__(message)


async def _all(*steps: Coroutine[Any, Any, None]) -> None:
    """Waits until every step has ended, and raises what the first of them in order raised."""
    results = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


class DeviceChange:
    """The way from one plan to another on one device.

    Attributes:
        uncertain: Whether the device may have anything between the two plans: it stopped
            answering on the way, or a failure could not be undone.
        untidy: Whether the change is made, and the device stopped answering before it had given
            back what only the old plan needs.
    """

    def __init__(
        self,
        before: DevicePlan,
        after: DevicePlan,
        device: P4Device,
        pipeline: Pipeline,
        access: StateAccess,
        *,
        traffic_manager: bool,
    ) -> None:
        """Args: the plans, the device, its program and state, and what it has.

        Raises:
            NotApplied: The program does not take an entry, or the device has no flow queues.
        """
        self.uncertain = self.untidy = False
        self._name = before.name
        # Whether the traffic manager, or the channels, may have something of the new plan.
        self._prepared = False
        self._admitted = False
        # Says in words which changes could not be undone.
        self._left: list[str] = []
        self._device = device
        self._pipeline = pipeline
        self._access = access
        self._manager = TrafficManager(device) if traffic_manager else None
        self._channels = UpstreamChannels(device)
        self._on_channels = change_between(before.channels, after.channels)
        # A modem that the change does not touch has the same object in both plans, so that its
        # service flows and entries need not be looked at.
        parts = [
            (was, part)
            for was, part in zip(before.parts, after.parts, strict=True)
            if was is not part
        ]
        old = {flow.sfid: flow for was, _ in parts for flow in was.flows}
        new = {flow.sfid: flow for _, part in parts for flow in part.flows}
        try:
            if self._manager is None:
                without_flow_queues(new.values())
            if access.name == PacketAccess.name:
                without_own_registers(new.values())
        except P4RuntimeError as error:
            raise NotApplied(f"{self._name}: {error}") from None
        self._new = [flow for sfid, flow in new.items() if sfid not in old]
        self._gone = [flow for sfid, flow in old.items() if sfid not in new]
        self._changed = [
            (old[sfid], flow) for sfid, flow in new.items() if sfid in old and old[sfid] != flow
        ]
        # Their buckets, before and after.
        self._refitted = [
            (before, after)
            for before, after in self._changed
            if (before.max_sustained_rate, before.max_burst)
            != (after.max_sustained_rate, after.max_burst)
        ]
        self._was = [entry for was, _ in parts for entry in was.tables]
        self._will_be = [entry for _, part in parts for entry in part.tables]
        if before.lasting is not after.lasting:
            self._was[:0] = before.lasting
            self._will_be[:0] = after.lasting
        try:
            self._updates = updates_between(pipeline, self._was, self._will_be)
        except PipelineError as error:
            raise NotApplied(f"{self._name}: {error}") from None

    async def apply(self, counters: CounterAccess) -> float:
        """Makes the change.

        Args:
            counters: Counters of the new plan.

        Returns:
            When packets had it, on time.monotonic().

        Raises:
            NotApplied: A step failed; what was done of it has been undone, unless `uncertain`.
        """
        try:
            try:
                # All at once: each waits for an answer, and none for another's.
                await _all(self._prepare(), self._clear(), self._reset(counters))
                await self._write()
            except BaseException:
                # A cancelled change is undone, too.
                await asyncio.shield(self._undone())
                raise
        except ConnectionLost as lost:
            self.uncertain = True
            raise NotApplied(
                f"{self._name}: {lost}; it gets what it had before", str(lost)
            ) from None
        except P4RuntimeError as error:
            if self.uncertain:
                raise NotApplied(
                    f"{self._name}: {error}; what was done before that could not be undone "
                    f"({'; '.join(self._left)}), so it gets everything anew, as it was",
                    str(error),
                ) from None
            raise NotApplied(
                f"{self._name}: {error}; it has what it had before", str(error)
            ) from None
        in_force = time.monotonic()
        try:
            await self._channels.change((), self._on_channels.gone)
            await self._finish_queues()
        except ConnectionLost:
            self.untidy = True
        except P4RuntimeError as error:
            # The change is made: nothing names them, so nothing depends on it.
            _LOG.warning("%s: queues that nothing uses are left: %s", self._name, error)
        return in_force

    async def _prepare(self) -> None:
        """A service flow that a channel carries has its queue first."""
        await self._prepare_queues()
        change = self._on_channels
        self._admitted = True
        try:
            await self._channels.change((*change.new, *(after for _, after in change.changed)))
        except P4RuntimeError:
            # All or nothing.
            self._admitted = False
            raise

    async def _undone(self) -> None:
        """Undoes it; unless that ends well, nobody knows what the device has."""
        self.uncertain = True
        await self._undo()
        self.uncertain = bool(self._left)

    async def _undo(self) -> None:
        change = self._on_channels
        if self._admitted:
            try:
                await self._channels.change((was for was, _ in change.changed), change.new)
            except (ConnectionLost, P4RuntimeError) as error:
                self._keeps(str(error))
        await self._undo_queues()
        await self._undo_buckets()

    async def _prepare_queues(self) -> None:
        if self._manager is None:
            return
        settings = [
            *(QueueSetting(flow) for flow in self._new),
            # The pipeline's limit and sub-queues change later: never above these.
            *(
                QueueSetting(
                    after,
                    afresh=False,
                    queue_limit=max(before.queue_limit, after.queue_limit),
                    sub_queues=max(sub_queues_of(before), sub_queues_of(after)),
                )
                for before, after in self._changed
            ),
        ]
        self._prepared = True
        try:
            await self._manager.change(settings)
        except P4RuntimeError:
            # All or nothing.
            self._prepared = False
            raise

    async def _undo_queues(self) -> None:
        if self._manager is None or not self._prepared:
            return
        was = [QueueSetting(before, afresh=False) for before, _ in self._changed]
        try:
            await self._manager.change(was, self._new)
        except (ConnectionLost, P4RuntimeError) as error:
            self._keeps(str(error))

    async def _bucket_updates(self, flows: Iterable[ServiceFlow]) -> list[tuple[Any, str]]:
        """Updates that make the copies in the pipeline what the traffic manager's buckets are now.

        With another rate or depth the traffic manager goes on from the tokens that there were at
        that moment. A copy by itself would count all the time since the last frame at the new rate,
        up to the new depth. Where nothing but the pipeline has a bucket, there is nothing to copy.
        """
        flows = tuple(flows)
        if self._manager is None or not flows:
            return []
        return self._access.of(flows).bucket_updates(await self._manager.buckets(flows))

    async def _undo_buckets(self) -> None:
        """A bucket that was made smaller for a moment has lost what did not fit into it."""
        if not self._prepared:
            return
        try:
            updates = await self._bucket_updates(before for before, _ in self._refitted)
            if updates:
                entities, names = zip(*updates, strict=True)
                await self._device.write(entities, names)
        except (ConnectionLost, P4RuntimeError) as error:
            self._keeps(str(error))

    def _keeps(self, why: str) -> None:
        """Undoing failed."""
        self.uncertain = True
        self._left.append(why)

    async def _finish_queues(self) -> None:
        if self._manager is not None:
            shrunk = [
                QueueSetting(after, afresh=False)
                for before, after in self._changed
                if after.queue_limit < before.queue_limit
                or sub_queues_of(after) < sub_queues_of(before)
            ]
            await self._manager.change(shrunk, self._gone)

    async def _reset(self, counters: CounterAccess) -> None:
        if self._new:
            await counters.reset(flow.index for flow in self._new)

    async def _clear(self) -> None:
        relaid = [
            after
            for before, after in self._changed
            if law_of(before) is not law_of(after) or before.generation != after.generation
        ]
        if relaid:
            await self._access.of(relaid).calm()
        # Frames may still be in those that it had, in use or not.
        gained = [
            queue
            for before, after in self._changed
            for given in after.ranges
            if given not in before.ranges
            for queue in given
        ]
        if gained:
            await self._access.clear_queues(gained)
        if self._new:
            # The traffic manager's start at the same tokens, microseconds before or after.
            buckets = [
                BucketState(flow.initial_tokens * TOKENS_PER_BYTE if flow.max_sustained_rate else 0)
                for flow in self._new
            ]
            await self._access.of(self._new).provision(buckets)

    async def _write(self) -> None:
        if not self._updates:
            return
        buckets = await self._bucket_updates(after for _, after in self._refitted)
        every = [*buckets, *self._updates]
        updates, names = zip(*every, strict=True)
        try:
            await self._device.write(updates, names, atomic=True)
        except P4RuntimeError as error:
            if not error.unimplemented:
                raise
            await self._write_one_by_one(every)

    async def _write_one_by_one(self, updates: Iterable[tuple[Any, str]]) -> None:
        """Serves targets without atomic batches: updates before a failure are undone.

        The order of the updates is such that packets find a rule at every moment.
        """
        done = []
        try:
            for update, name in updates:
                await self._device.write([update], [name])
                done.append(name)
        except P4RuntimeError:
            # The way back has only those steps that undo what was done.
            for update, name in updates_between(self._pipeline, self._will_be, self._was):
                if name in done:
                    try:
                        await self._device.write([update], [name])
                    except P4RuntimeError as error:
                        # The others go back all the same.
                        self._keeps(str(error))
            raise
