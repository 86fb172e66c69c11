# SPDX-License-Identifier: Apache-2.0
"""Configures a device's traffic manager."""

from typing import Any

import grpc

from docsis_control.p4rt.connection import RPC_TIMEOUT, Connection
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.provisioning import DevicePlan, ServiceFlow
from docsis_control.state.access import BucketState


def _messages() -> Any:
    try:
        from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2
    except ImportError as error:
        raise RuntimeError(
            f"the messages of docsis.tm.v1 are not there ({error}); run make setup"
        ) from None
    return traffic_manager_pb2


class TrafficManager:
    """The traffic manager behind a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pb = _messages()
        service = "/docsis.tm.v1.TrafficManager"
        self._configure = self._unary(f"{service}/Configure", self._pb.ConfigureResponse)
        self._get = self._unary(f"{service}/Get", self._pb.GetResponse)

    def _unary(self, method: str, response: Any) -> Any:
        return self._connection.channel.unary_unary(
            method,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )

    async def configure(self, plan: DevicePlan) -> bool:
        """Sets ports and queues, with the buckets at their initial tokens.

        Returns:
            False where the target has no such service.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused the configuration; the message says what.
        """
        request = self._pb.ConfigureRequest(device_id=plan.device_id)
        for port in plan.ports:
            request.ports.add(port=port.port, receive_delay_ns=port.receive_delay_ns)
        for flow in plan.service_flows:
            request.service_flows.add(
                queue={"port": flow.port, "queue_id": flow.queue_id},
                max_sustained_rate=flow.max_sustained_rate,
                max_burst=flow.max_burst,
                peak_rate=flow.peak_rate,
                initial_tokens=flow.initial_tokens,
                queue_limit=flow.queue_limit,
            )
        try:
            await self._connection.call(
                "configuring the traffic manager", self._configure(request, timeout=RPC_TIMEOUT)
            )
        except P4RuntimeError as error:
            if error.code is grpc.StatusCode.UNIMPLEMENTED:
                return False
            raise
        return True

    async def state(self) -> Any:
        """The docsis.tm.v1.GetResponse of the device.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It has no such service.
        """
        return await self._connection.call(
            "reading the traffic manager",
            self._get(
                self._pb.GetRequest(device_id=self._connection.device_id), timeout=RPC_TIMEOUT
            ),
        )

    async def buckets(self, flows: tuple[ServiceFlow, ...]) -> list[BucketState]:
        """The sustained rate's buckets, for the pipeline's registers to follow."""
        response = await self.state()
        by_queue = {
            (flow.config.queue.port, flow.config.queue.queue_id): flow.sustained_tokens
            for flow in response.service_flows
        }
        return [
            BucketState(by_queue[flow.port, flow.queue_id], response.now_ns // 1000)
            for flow in flows
        ]
