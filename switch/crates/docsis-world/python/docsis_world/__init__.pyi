# SPDX-License-Identifier: Apache-2.0
"""P4 devices, links, hosts and their traffic in virtual time.

A `World` runs the embedded switch's own pipeline and traffic manager, and simulated hosts around
it, on one clock that only `World.run_until` moves. From the same seed and the same calls follow
the same packets to the nanosecond, on every machine and under any load.

Times are integers of nanoseconds since the world began, rates are bit/s, and a frame's length is
that to the end of its CRC. Columns of numbers come as `bytes` for `numpy.frombuffer(column,
dtype=numpy.int64)`.

While a world runs or answers a call it does not hold the interpreter's lock. Only one thread may
use a world at a time: another one gets a `WorldError`.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Literal, TypedDict, final

__all__ = [
    "CHANNEL_PROFILES",
    "SOURCES",
    "RpcError",
    "Stream",
    "World",
    "WorldError",
    "__version__",
    "channel_profile",
]

__version__: str
"""Version of the switch's workspace."""

SOURCES: str
"""SHA-256 of the module's sources, compiler and options, hexadecimal."""

CHANNEL_PROFILES: tuple[str, ...]
"""Names of upstream channels' profiles."""

def channel_profile(name: str, **settings: int | str | None) -> dict[str, int | str | None]:
    """All numbers of an upstream channel's profile, by the keys that `World.add_channel` takes.

    Args:
        name: One of CHANNEL_PROFILES.
        settings: Settings that differ, as for `World.add_channel`.
    """

SchedulingType = Literal["best-effort", "nrtps", "rtps", "ugs-ad", "ugs", "pgs"]
"""How a service flow comes to grants (TLV 24.15)."""

Congestion = Literal["cubic", "reno", "ledbat"]
"""TCP's congestion control."""

Profile = Literal["linux", "rfc"]
"""A host's TCP: all that Linux does, or RFC 5681, 6582 and 6675 alone."""

Acknowledgements = Literal["delayed", "every-segment"]
"""When a host acknowledges data: as its profile does, every second segment or a little later (RFC
5681 4.2), or each segment at once."""

Lateness = tuple[int, int]
"""Median and 99th percentile of how late something runs, nanoseconds; (0, 0) is never late."""

@final
class RpcError(Exception):
    """A method of P4Runtime or of the traffic manager ended with a status that is not OK."""

    code: int
    """The status, as gRPC numbers it."""
    message: str
    """Why."""
    details: bytes
    """A serialized google.rpc.Status, as the metadata grpc-status-details-bin has it; may be
    empty."""

@final
class WorldError(RuntimeError):
    """The world cannot go on: it has failed, has reached a limit, or another thread uses it."""

class TransferInfo(TypedDict):
    """A TCP sender at this moment: of its newest connection, counters over all of them."""

    state: str
    """The connection's state by RFC 9293; "CLOSED" before the first and after the last."""
    cwnd: int
    """Congestion window, bytes."""
    ssthresh: int
    """Slow start threshold, bytes; 2**63 - 1 before the first loss."""
    srtt_ns: int
    """Smoothed round-trip time; 0 before the first sample."""
    rto_ns: int
    """Retransmission timeout."""
    in_flight: int
    """Bytes sent and neither acknowledged nor thought lost."""
    sent_segments: int
    """Segments with data, retransmissions included."""
    retransmissions: int
    """Segments that were sent again."""
    timeouts: int
    """How often the retransmission timer fired."""
    connections: int
    """Connections that were opened so far."""
    acknowledged: int
    """Bytes acknowledged, of all connections."""

class Counts(TypedDict):
    """Counts of an application's packets so far, from its source to its destination."""

    sent_frames: int
    sent_bytes: int
    """Bytes of frames to the end of their CRC."""
    received_frames: int
    received_bytes: int
    """Bytes of frames to the end of their CRC."""
    payload: int
    """Payload that the receiving application got: of TCP in order, each byte once."""

class HostCounters(TypedDict):
    """Frames of a host."""

    sent: int
    received: int
    unwanted: int
    """Received frames that were for no application here: other addresses, unknown ports."""
    malformed: int
    """Received frames with a wrong checksum, or cut off."""
    dropped: int
    """Frames that the host's link had no room for."""

class Totals(TypedDict):
    """Frames of the whole world. What was sent equals what was received, what devices count as
    dropped or keep, what links dropped, what faults took and what is on its way."""

    events: int
    """Steps that the world has made."""
    sent: int
    """By hosts, and injected."""
    received: int
    """By hosts."""
    link_dropped: int
    """Links had no room for them."""
    unconnected: int
    """Left a device through a port without a link."""
    lost: int
    """Lost to a fault: a link was cut, or a device's process was dead, or stopped for too long."""
    lost_inside: int
    """Died with a device's process, in whose queues they were."""
    on_links: int
    """On links, or waiting for a process that is late."""

@final
class Stream:
    """A P4Runtime StreamChannel to a device; closing it ends its arbitration."""

    def send(self, message: bytes) -> None:
        """Sends a serialized p4.v1.StreamMessageRequest, now.

        Raises:
            RpcError: It ends the stream.
        """

    def receive(self) -> list[bytes]:
        """Takes the serialized p4.v1.StreamMessageResponses that are there by now."""

    def close(self) -> None:
        """Ends the stream. May be called again."""

@final
class World:
    """Devices, links and hosts on one clock.

    Devices come first, then what connects them and hosts, then calls that provision them, and
    traffic. All of it can also be added later, between two `run_until`.

    Every method raises ValueError where an argument is not possible, with a sentence that says
    what is wrong, and WorldError once the world has failed.
    """

    def __init__(self, seed: int) -> None:
        """Makes an empty world at time 0.

        Args:
            seed: 0 to 2**64 - 1. Devices, hosts, links and applications draw from streams of
                their own, which their names determine: what is added shifts no other's draws.
        """

    @property
    def seed(self) -> int:
        """The seed."""

    @property
    def now_ns(self) -> int:
        """The time until which everything has happened."""

    def add_device(
        self,
        name: str,
        device_id: int,
        ports: Iterable[int],
        *,
        cpu_port: int | None = None,
        seed: int | None = None,
        lateness: Lateness = (0, 0),
    ) -> None:
        """Adds an embedded switch with the docsis traffic manager, without a pipeline yet.

        Args:
            name: For `call`, `connect` and `add_host`.
            device_id: P4Runtime's, not 0; unique in this world.
            ports: Port numbers, 1 to 510.
            cpu_port: Port of packet-in and packet-out.
            seed: Seed of its programs' random draws; drawn from the world's unless given.
            lateness: Lateness of the switch's process, which hosts see: frames leave so much later
                than due, together with those that became due meanwhile. Time inside the device is
                exact all the same.
        """

    def connect(
        self,
        one: tuple[str, int],
        other: tuple[str, int],
        *,
        rate: int = 0,
        delay_ns: int = 0,
        jitter_ns: int = 0,
    ) -> None:
        """Connects two device ports, each given as the device's name and the port.

        Args:
            one: An end.
            other: The other end.
            rate: bit/s of each direction, of frames with preamble and gap; 0 is no limit.
            delay_ns: Propagation delay.
            jitter_ns: A frame is delayed by up to so much more, and overtakes none.
        """

    def add_host(
        self,
        name: str,
        mac: str,
        address: str,
        device: str,
        port: int,
        *,
        link_rate: int = 1_000_000_000,
        delay_ns: int = 0,
        jitter_ns: int = 0,
        lateness: Lateness = (0, 0),
    ) -> None:
        """Adds a host at a device's port. Hosts know each other's MAC addresses.

        Args:
            name: For applications.
            mac: Such as "02:00:00:00:01:01".
            address: IPv4 address with prefix length, such as "10.0.0.11/24".
            device: Name of the device.
            port: Its port.
            link_rate: bit/s of each direction, of frames with preamble and gap; 0 is no limit.
            delay_ns: Propagation delay of the link.
            jitter_ns: A frame is delayed by up to so much more, and overtakes none.
            lateness: Lateness of the host: an application runs so much later than its timer, and
                frames that arrive meanwhile are handed over together.
        """

    # --- control ---------------------------------------------------------------------------

    def add_channel(self, name: str, profile: str, **settings: int | str | None) -> None:
        """Adds an upstream channel without service flows, whose first MAPs are made from now on.

        Args:
            name: For `add_upstream_flow` and `channel_state`.
            profile: One of CHANNEL_PROFILES.
            settings: Settings that differ, by the field's name with a dot before a part's, as
                `**{"map_minislots": 80, "timing.delivery": 40_000}`. Times are nanoseconds but for
                clock.frame_ps. Three set several fields at a time: line_rate (bit/s, of
                cablelabs-2014), map_time (of docsis-1.1-004) and map_frames (of docsis-3.1).
                A flag may be 0 or 1; `capacity=None` leaves all of it.
        """

    def set_map_traffic(self, channel: str, message: int, element: int) -> None:
        """The channel's MAPs go downstream, before the frames of the CMTS's port.

        They take their bytes of that port's rate, in the packets that carry its frames. Until this
        is called they take nothing.

        Args:
            message: Bytes of each MAP, as DOCSIS counts a frame's, without its elements.
            element: Bytes of each information element.
        """

    def grant_port(self, device: str, port: int, primary: int) -> None:
        """Lets channels carry what a device's port sends: by itself it sends nothing any more.

        Frames arrive where the port's link leads, which carries the other direction alone. The
        port has neither frames nor a rate or a delay, which are the channel's.

        Args:
            device: Its name.
            port: Its port, connected to the CMTS.
            primary: The queue of the service flow that sends what the pipeline puts into queue 0.
        """

    def add_upstream_flow(
        self,
        channel: str,
        device: str,
        port: int,
        queue_id: int,
        sid: int,
        scheduling_type: SchedulingType = "best-effort",
        *,
        policy: int = ...,
        polling_interval_ns: int = 0,
        poll_jitter_ns: int = 0,
        grant_size: int = 0,
        grant_interval_ns: int = 0,
        grant_jitter_ns: int = 0,
        grants_per_interval: int = 1,
        guaranteed_grant_interval_ns: int = 0,
        guaranteed_grant_rate: int = 0,
        guaranteed_request_interval_ns: int = 0,
        activity_detection_disable: int = 0,
        traffic_priority: int = 0,
        max_sustained_rate: int = 0,
        max_burst: int = 3044,
        peak_rate: int = 0,
        min_reserved_rate: int = 0,
        assumed_packet_size: int = 0,
        max_concatenated_burst: int = 0,
        backoff_eighths: int = 8,
        request_unit: int = 4,
    ) -> None:
        """Lets a channel carry what waits in a queue of a granted port.

        The values are those of TLV 24 of the modem's configuration file, complete. Rates (bit/s)
        are what the CMTS enforces on grants; the modem shapes its requests by those of the queue
        in its traffic manager.

        Args:
            channel: The channel's name.
            device: The modem's name.
            port: Its granted port.
            queue_id: The queue there, not 0.
            sid: The service flow's number on the channel, 1 to 16382.
            scheduling_type: How it comes to grants. A value that this does not use is refused.
            policy: What the flow must not do (24.16); usual for its type unless given.
            polling_interval_ns: Between two polls.
            poll_jitter_ns: How much later than that a poll may come.
            grant_size: MAC bytes of an unsolicited grant.
            grant_interval_ns: Between two intervals of unsolicited grants.
            grant_jitter_ns: How much later than that a grant may come.
            grants_per_interval: Unsolicited grants in each.
            guaranteed_grant_interval_ns: Interval of proactive grants; 0 is one MAP.
            guaranteed_grant_rate: Rate of proactive grants, bit/s.
            guaranteed_request_interval_ns: Interval of polls beside them; 0 is none.
            activity_detection_disable: 1 keeps proactive grants while the flow is idle.
            traffic_priority: 0 to 7; 7 goes first.
            max_sustained_rate: 0 is no limit.
            max_burst: Bytes.
            peak_rate: 0 is no limit.
            min_reserved_rate: 0 is none.
            assumed_packet_size: Bytes that a shorter frame counts for in the minimum rate.
            max_concatenated_burst: Bytes; 0 is no limit.
            backoff_eighths: Multiplier of the contention window, in eighths.
            request_unit: Bytes that a queue-depth request counts in.
        """

    def remove_upstream_flow(self, channel: str, sid: int) -> None:
        """Ends that. What the service flow has sent still arrives; what waits, stays."""

    def set_channel_capacity(
        self, channel: str, rate: int | None, variation_percent: int = 0
    ) -> None:
        """Changes what other users leave of an upstream channel, from the next MAP on.

        Refused, with ValueError, where service flows were promised more.

        Args:
            channel: Its name.
            rate: bit/s, the mean; None leaves all of it.
            variation_percent: How far each MAP's draw may lie from the mean.
        """

    def watch_channel(self, channel: str, maps: int) -> None:
        """Keeps the last MAPs of a channel from now on, for `channel_state`.

        It changes nothing else, and costs something only while it is on.

        Args:
            channel: The channel's name.
            maps: How many, at most 128; 0: none any more.
        """

    def channel_state(self, channel: str) -> bytes:
        """Counters of a channel, and its last MAPs where it is watched.

        Returns:
            A serialized docsis.mac.v1.ChannelState, as a switch tells it too.
        """

    def capture_channel(self, channel: str, path: str | PathLike[str], most_bytes: int) -> None:
        """Writes a channel's frames into a capture file from now on: MAPs, requests, bursts.

        Its link type is 143, DOCSIS. It has what the CMTS hears, when it does: of requests that
        collide nothing, and of a burst the MAC frames whose last byte has arrived. It changes
        nothing else in the world.

        Args:
            channel: The channel's name.
            path: The file, which is overwritten.
            most_bytes: The file ends before that.
        """

    def end_capture(self, channel: str) -> tuple[int, int]:
        """Ends a capture: frames in the file, and frames that it has no room for."""

    def trace(
        self,
        device: str,
        path: str | PathLike[str],
        most_bytes: int,
        *,
        json: bool = False,
        filter: str = "",
    ) -> None:
        """Writes what happens to a device's packets into a file, as the switch's --trace does.

        Args:
            device: Name of the device.
            path: The file, which is overwritten.
            most_bytes: The trace ends there.
            json: An object on a line for each event, instead of words.
            filter: As of --trace-filter.
        """

    def end_traces(self) -> None:
        """Ends all traces: their files are complete."""

    def call(self, device: str, method: str, request: bytes) -> list[bytes]:
        """Runs a method of the device's P4Runtime server now, after what is due.

        Args:
            device: Name of the device.
            method: Its path, such as "/p4.v1.P4Runtime/Read" or
                "/docsis.tm.v1.TrafficManager/Configure". All of these two services are served
                but StreamChannel: see `open_stream`. "/p4.v1.P4Runtime/Read.cells" is one more: a
                Read of registers' cells, one by one, whose answer is a column of their values.
            request: The serialized message.

        Returns:
            Serialized responses: one, or as many as a method streams.

        Raises:
            RpcError: The status is not OK.
        """

    def open_stream(self, device: str) -> Stream:
        """Opens a StreamChannel to a device."""

    def inject(self, device: str, port: int, frames: Sequence[tuple[int, bytes]]) -> None:
        """Lets frames arrive at a device's port, without any link.

        Args:
            device: Name of the device.
            port: Its port, with a link or without.
            frames: When each arrives, in order and not before now, and its bytes without CRC.
        """

    def collect(self, device: str, port: int) -> None:
        """Keeps the frames that leave through a port from now on, for `collected`.

        All that are kept take 64 MiB at the most, with 64 bytes of each for itself. Beyond, the
        world fails.

        Args:
            device: Name of the device.
            port: Its port, without a link.
        """

    def collected(self, device: str, port: int) -> list[tuple[int, bytes]]:
        """Takes the frames that have left through a port since the last call.

        Args:
            device: Name of the device.
            port: Its port, whose frames are collected.

        Returns:
            When each left, and its bytes without CRC.
        """

    # --- faults ----------------------------------------------------------------------------

    def cut_link(self, device: str, port: int) -> None:
        """Loses what is on the link behind a port, and what is sent there until `mend_link`."""

    def hold_link(self, device: str, port: int) -> None:
        """Lets frames wait on the link behind a port until `mend_link`, in both directions."""

    def mend_link(self, device: str, port: int) -> None:
        """Lets the link behind a port carry frames again; what waited comes at once."""

    def set_link(
        self, device: str, port: int, *, rate: int = 0, delay_ns: int = 0, jitter_ns: int = 0
    ) -> tuple[int, int, int]:
        """Gives the link behind a port another rate, delay and jitter, as `connect` does.

        Returns:
            The rate, delay and jitter that it had.
        """

    def set_host_lateness(self, host: str, lateness: Lateness) -> None:
        """Makes a host, and what sends from it, so late from now on."""

    def stop_device(self, device: str) -> None:
        """Stops a device's process, as SIGSTOP does.

        Frames wait in front of it, 8 MiB at the most, and its server does not answer: calls end
        with UNAVAILABLE at once.
        """

    def continue_device(self, device: str) -> None:
        """Lets a stopped process go on.

        It takes what waits at the times at which it came. Where it is more than 20 ms behind, its
        time jumps, and no bucket earns anything for the gap.
        """

    def kill_device(self, device: str) -> int:
        """Kills a device's process: its state, its streams and its frames are gone.

        Until `start_device` its server does not answer and frames that come are lost.

        Returns:
            How many frames it had.
        """

    def start_device(self, device: str) -> None:
        """Starts a dead device again, without a pipeline, as `add_device` adds it."""

    def books(self, device: str) -> dict[str, int]:
        """A device's frames of this moment, since its process was started.

        received + entered + copied = sent + left + dropped + emptied + held, at any moment:

        - received, sent: from and to wires;
        - entered: packet-outs, and what came again from a port that loops back;
        - left: packet-ins, and what left through a port that loops back;
        - copied: copies that multicast and clones made, beyond the frames themselves;
        - dropped: one by one, wherever that was;
        - emptied: taken out of queues by a new pipeline, or with a queue that was removed;
        - held: in queues, on delay lines, and on the way through ingress again.
        """

    def take_departures(self, device: str) -> dict[str, bytes]:
        """Takes what has left a device's queues since the last call, in order.

        The first call gives nothing, and has departures recorded from then on. The columns are
        time_ns, port, queue, and length in bytes to the end of the CRC.

        Raises:
            WorldError: More than 4,194,304 frames have left since.
        """

    # --- traffic ---------------------------------------------------------------------------
    #
    # Each application has a number, for the methods below. It sends from a host called the
    # source to one called the destination. `start_ns` is now unless given. `port` is the
    # destination's; `source_port` is chosen unless given. `tos` is the ToS byte of its packets,
    # DSCP in the upper six bits. Of its packets one in `one_in` is recorded, a power of two, 0
    # for none: those whose IPv4 identification is a multiple of it.

    def rate_limit(self, rate: int) -> int:
        """A limit that TCP transfers keep to together.

        Those whose TCP can send take turns, a segment each, in the order in which they ask for
        one. What one of them cannot use goes to the others; what none uses is not caught up on.

        Args:
            rate: Payload that all of them together hand to TCP at the most, bit/s.

        Returns:
            Its number, for `tcp_transfer`.

        Raises:
            ValueError: The rate is not 1 to 100,000,000,000 bit/s, or there are 65,536 limits.
        """

    def tcp_transfer(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        size: int | None = None,
        pause_ns: int | None = None,
        kept: bool = False,
        rate: int | None = None,
        shared_limit: int | None = None,
        reply_delay_ns: int = 0,
        source_port: int = 0,
        tos: int = 0,
        congestion: Congestion = "cubic",
        profile: Profile = "linux",
        acknowledgements: Acknowledgements = "delayed",
        initial_window: int = 10,
        segment: int = 1448,
        least_timeout_ns: int | None = None,
        receive_window: int | None = None,
        ledbat_target_ns: int = 100_000_000,
        one_in: int = 0,
    ) -> int:
        """A TCP transfer, or one after the other.

        Args:
            source: Sends.
            destination: Receives.
            port: TCP port.
            start_ns: When the connection is opened.
            stop_ns: When it is reset, and what it has not sent is thrown away.
            size: Bytes of a transfer; endless unless given.
            pause_ns: From the end of a transfer to the next one's start; one transfer only unless
                given.
            kept: All of them are on one connection, and a transfer ends when all of it is
                acknowledged. If not, each has a connection of its own, and ends when the receiver
                has closed that.
            rate: Payload that the application hands to TCP at the most, bit/s, in whole segments;
                what TCP could not send is not caught up on. No such limit unless given.
            shared_limit: Number of the limit that it keeps to together with other transfers,
                instead of a rate of its own (`rate_limit`).
            reply_delay_ns: What the destination sends is so much longer on its way than its link
                says: this flow has a round trip of its own. A minute at most.
            source_port: Port of the first connection; the next one's is 200 higher, as the Mininet
                stage has it.
            tos: ToS byte of its segments, and of their acknowledgements.
            congestion: Congestion control.
            profile: TCP's profile.
            acknowledgements: When the receiver acknowledges data.
            initial_window: Segments.
            segment: Largest payload of a segment, bytes.
            least_timeout_ns: The least retransmission timeout; the profile's unless given.
            receive_window: Largest window that a receiver offers, bytes; no limit unless given.
            ledbat_target_ns: The queueing delay that LEDBAT keeps to, up to 100 ms (RFC 6817 2.5).
            one_in: Which of its segments are recorded.
        """

    def messages(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        size: int,
        interval_ns: int,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
        congestion: Congestion = "cubic",
        profile: Profile = "linux",
        acknowledgements: Acknowledgements = "delayed",
        initial_window: int = 10,
        segment: int = 1448,
        least_timeout_ns: int | None = None,
        receive_window: int | None = None,
        ledbat_target_ns: int = 100_000_000,
        one_in: int = 0,
    ) -> int:
        """A message every now and then on one TCP connection, as a game's: see `message_records`.

        Args:
            source: Sends.
            destination: Receives.
            port: TCP port.
            size: Bytes of a message.
            interval_ns: From message to message.
            start_ns: The first message, and the opening of the connection.
            stop_ns: When the connection is reset.
            source_port: Port of the connection.
            tos: ToS byte.
            congestion: Congestion control.
            profile: TCP's profile.
            acknowledgements: When the receiver acknowledges data.
            initial_window: Segments.
            segment: Largest payload of a segment, bytes.
            least_timeout_ns: The least retransmission timeout; the profile's unless given.
            receive_window: Largest window that a receiver offers, bytes; no limit unless given.
            ledbat_target_ns: The queueing delay that LEDBAT keeps to, up to 100 ms (RFC 6817 2.5).
            one_in: Which of its segments are recorded.
        """

    def requests(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        think_ns: int,
        request: int = 400,
        response: int = 100_000,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
        congestion: Congestion = "cubic",
        profile: Profile = "linux",
        acknowledgements: Acknowledgements = "delayed",
        initial_window: int = 10,
        segment: int = 1448,
        least_timeout_ns: int | None = None,
        receive_window: int | None = None,
        ledbat_target_ns: int = 100_000_000,
    ) -> int:
        """Requests and responses over TCP, as a browser's: see `message_records`.

        The client asks on one connection, the server answers, and the client thinks before it asks
        again. `received` is of the responses.

        Args:
            source: The client.
            destination: The server.
            port: TCP port.
            think_ns: Mean of the time between a response and the next request, which is
                exponentially distributed; also before the first.
            request: Bytes of a request.
            response: Mean of a response's bytes, which are exponentially distributed.
            start_ns: When the client begins to think.
            stop_ns: When it stops asking.
            source_port: Port of the connection.
            tos: ToS byte, both ways.
            congestion: Congestion control.
            profile: TCP's profile.
            acknowledgements: When the receiver acknowledges data.
            initial_window: Segments.
            segment: Largest payload of a segment, bytes.
            least_timeout_ns: The least retransmission timeout; the profile's unless given.
            receive_window: Largest window that a receiver offers, bytes; no limit unless given.
            ledbat_target_ns: The queueing delay that LEDBAT keeps to, up to 100 ms (RFC 6817 2.5).
        """

    def pages(
        self,
        source: str,
        servers: Sequence[tuple[str, int]],
        *,
        page: int,
        html: int,
        objects: int,
        variation_permille: int,
        connections: int,
        pause_ns: int,
        request: int = 400,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
        congestion: Congestion = "cubic",
        profile: Profile = "linux",
        acknowledgements: Acknowledgements = "delayed",
        initial_window: int = 10,
        segment: int = 1448,
        least_timeout_ns: int | None = None,
        receive_window: int | None = None,
        ledbat_target_ns: int = 100_000_000,
    ) -> int:
        """A web user who loads one page after the other: see `page_records`.

        A page is an HTML file, which comes first and alone, and objects, each over a TCP connection
        of its own. `received` is of all that came.

        Args:
            source: The user.
            servers: Hosts and TCP ports, 16 at most; the first one has the HTML, and objects are
                on all of them in turns.
            page: Bytes of a page, the HTML included.
            html: Bytes of the HTML.
            objects: How many a page has. Their sizes are log-normally distributed, and scaled so
                that the page has its bytes. They depend on the world's seed and the user alone.
            variation_permille: Coefficient of variation of the sizes before they are scaled,
                thousandths; 10 at most.
            connections: To one server at once.
            pause_ns: From the end of a page to the start of the next.
            request: Bytes of a request.
            start_ns: When the first page begins.
            stop_ns: When connections are reset, and no page follows.
            source_port: Port of the first connection.
            tos: ToS byte, both ways.
            congestion: Congestion control.
            profile: TCP's profile.
            acknowledgements: When the receiver acknowledges data.
            initial_window: Segments.
            segment: Largest payload of a segment, bytes.
            least_timeout_ns: The least retransmission timeout; the profile's unless given.
            receive_window: Largest window that a receiver offers, bytes; no limit unless given.
            ledbat_target_ns: The queueing delay that LEDBAT keeps to, up to 100 ms (RFC 6817 2.5).
        """

    def video(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        ladder: Iterable[int],
        segment_ns: int,
        buffer_ns: int,
        safety_permille: int,
        samples: int,
        request: int = 400,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
        congestion: Congestion = "cubic",
        profile: Profile = "linux",
        acknowledgements: Acknowledgements = "delayed",
        initial_window: int = 10,
        segment: int = 1448,
        least_timeout_ns: int | None = None,
        receive_window: int | None = None,
        ledbat_target_ns: int = 100_000_000,
    ) -> int:
        """Somebody who watches an adaptive video: see `video_records`.

        Segments come one after the other over one TCP connection. The first one has the lowest
        rate, any other the highest that a share of the mean throughput carries: a segment's bits
        over the time from its request to its end. Playing begins with the first segment, stops
        where the buffer is empty, and goes on with the next segment. `received` counts all payload.

        Args:
            source: Who watches.
            destination: The server's host.
            port: The server's TCP port.
            ladder: Rates that the video is offered at, bit/s, each higher than the one before; 64
                at most.
            segment_ns: Playing time of a segment.
            buffer_ns: With more playing time than that in its buffer, a player asks for nothing;
                a segment's at least.
            safety_permille: Share of the mean throughput that a rate may have, thousandths.
            samples: Segments that the mean is of, the newest ones.
            request: Bytes of a request.
            start_ns: When the first segment is asked for.
            stop_ns: When the connection is reset.
            source_port: Port of the first connection.
            tos: ToS byte, both ways.
            congestion: Congestion control.
            profile: TCP's profile.
            acknowledgements: When the receiver acknowledges data.
            initial_window: Segments of TCP.
            segment: Largest payload of a segment of TCP, bytes.
            least_timeout_ns: The least retransmission timeout; the profile's unless given.
            receive_window: Largest window that a receiver offers, bytes; no limit unless given.
            ledbat_target_ns: The queueing delay that LEDBAT keeps to, up to 100 ms (RFC 6817 2.5).
        """

    def timed_pages(
        self,
        source: str,
        servers: Sequence[tuple[str, int]],
        *,
        objects: tuple[int, int],
        gap_ns: tuple[int, int],
        segments: tuple[int, int],
        segment_bytes: int,
        pause_ns: tuple[int, int],
        connections: int,
        request: int = 400,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
        congestion: Congestion = "cubic",
        profile: Profile = "linux",
        acknowledgements: Acknowledgements = "delayed",
        initial_window: int = 10,
        segment: int = 1448,
        least_timeout_ns: int | None = None,
        receive_window: int | None = None,
        ledbat_target_ns: int = 100_000_000,
    ) -> int:
        """A web user who asks for a page's objects one by one: see `page_records`.

        Each object is over a TCP connection of its own. Laws are Pareto distributions, each by its
        mean and by its shape in thousandths, 1001 to 100000; what is drawn depends on the world's
        seed and the user alone. `received` is of all that came.

        Args:
            source: The user.
            servers: Hosts and TCP ports, 16 at most; objects are on all of them in turns.
            objects: Law of a page's objects, whose mean is in thousandths of an object.
            gap_ns: Law of the time from the request for an object to that for the next.
            segments: Law of an object's segments, whose mean is in thousandths of a segment. A draw
                between two whole numbers becomes one of them at random, and 1 at least.
            segment_bytes: Bytes of a segment.
            pause_ns: Law of the time from the end of a page to the start of the next.
            connections: To one server at once; what is beyond waits.
            request: Bytes of a request.
            start_ns: When the first page begins.
            stop_ns: When connections are reset, and no page follows.
            source_port: Port of the first connection.
            tos: ToS byte, both ways.
            congestion: Congestion control.
            profile: TCP's profile.
            acknowledgements: When the receiver acknowledges data.
            initial_window: Segments.
            segment: Largest payload of a segment, bytes.
            least_timeout_ns: The least retransmission timeout; the profile's unless given.
            receive_window: Largest window that a receiver offers, bytes; no limit unless given.
            ledbat_target_ns: The queueing delay that LEDBAT keeps to, up to 100 ms (RFC 6817 2.5).
        """

    def probes(
        self,
        source: str,
        destination: str,
        port: int = 2112,
        *,
        count: int,
        interval_ns: int = 20_000_000,
        frame_length: int = 218,
        start_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
    ) -> int:
        """UDP probes that the destination returns, as irtt's: a call, or a game.

        Args:
            source: Sends, and gets them back.
            destination: Returns them.
            port: UDP port.
            count: How many.
            interval_ns: From probe to probe.
            frame_length: Length of a probe's frame to the end of the CRC.
            start_ns: When the first one is sent.
            source_port: Port of the probes.
            tos: ToS byte, both ways.
        """

    def udp_requests(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        frame_length: int = 64,
        reply_length: int = 64,
        timeout_ns: int = 1_000_000_000,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
    ) -> int:
        """UDP requests in turn, as netperf's UDP_RR: the next one follows the reply.

        Args:
            source: Asks.
            destination: Answers at once.
            port: UDP port.
            frame_length: Length of a request's frame to the end of the CRC.
            reply_length: The same of a reply's.
            timeout_ns: The next request does not wait longer for a reply. A reply that comes later
                still belongs to its own request.
            start_ns: When the first request is made.
            stop_ns: Nothing is asked from then on.
            source_port: Port of the requests.
            tos: ToS byte, both ways.
        """

    def udp_stream(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        frame_length: int = 1000,
        interval_ns: int = 0,
        train: int = 1,
        times_ns: Sequence[int] | None = None,
        on_ns: int = 0,
        off_ns: int = 0,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        source_port: int = 0,
        tos: int = 0,
        one_in: int = 0,
    ) -> int:
        """UDP at a constant rate, in bursts, on and off, or at given times.

        Args:
            source: Sends.
            destination: Receives, and counts.
            port: UDP port.
            frame_length: Length of each frame to the end of the CRC.
            interval_ns: From datagram to datagram, or from train to train. With `times_ns`, 0.
            train: Datagrams back to back.
            times_ns: When to send, in order, instead of at an interval.
            on_ns: Mean of the times in which it sends; exponentially distributed. 0 is always.
            off_ns: Mean of the times in which it does not; exponentially distributed.
            start_ns: The first datagram is sent up to 100 ms later, or up to the interval: not
                all streams send at the same moment.
            stop_ns: Nothing is sent from then on.
            source_port: Port of the datagrams.
            tos: ToS byte.
            one_in: Which of its datagrams are recorded.
        """

    # --- time --------------------------------------------------------------------------------

    def run_until(self, time_ns: int) -> None:
        """Lets everything happen that is due by a time, which then is now.

        Raises:
            WorldError: A limit was reached on the way; the message names it.
        """

    # --- results -------------------------------------------------------------------------------

    def digest(self) -> str:
        """Hash over every packet event so far: its time, place, kind and the frame's bytes.

        Two worlds with the same digest have had the same packets. 16 hexadecimal digits.
        """

    def totals(self) -> Totals:
        """Frames of the whole world."""

    def host_counters(self, host: str) -> HostCounters:
        """Frames of a host."""

    def received(self, application: int) -> int:
        """Payload that the receiver of an application has got: of TCP in order, each byte once.

        For `probes` what came back, for `requests` the responses, for `udp_requests` the replies.
        """

    def counts(self, application: int) -> Counts:
        """Counts of an application's packets so far."""

    def transfer_info(self, application: int) -> TransferInfo:
        """The TCP sender of an application; of `requests` the server."""

    def probe_records(self, application: int) -> tuple[bytes, bytes, bytes]:
        """When each probe was sent, reached the destination, and came back; -1 is not at all.

        In the order of sending, nanoseconds.
        """

    def round_trip_records(self, application: int) -> tuple[bytes, bytes]:
        """When each of `udp_requests` was made, and when its reply was there; -1 is not at all.

        In the order of asking, nanoseconds.
        """

    def packet_records(self, application: int) -> tuple[bytes, bytes]:
        """When each recorded packet left its host, and reached the other one; -1 is not yet.

        At the hosts' interfaces, in the order of sending, nanoseconds.
        """

    def message_records(self, application: int) -> tuple[bytes, bytes]:
        """When each message or request was handed to TCP, and when all of it, or all of the
        response, had arrived; -1 is not yet. Nanoseconds."""

    def page_records(self, application: int) -> tuple[bytes, bytes]:
        """When the user asked for the first connection of each page, and when its last object was
        complete; -1 is not yet. Nanoseconds."""

    def video_records(self, application: int) -> dict[str, bytes]:
        """The segments of a video, in the order in which they were asked for.

        The columns are asked_ns, came_ns (all of it was there), plays_ns (its playing began, or
        will), rate (bit/s), bytes, and buffered_ns (playing time in the buffer when it was asked
        for); -1 is not yet.
        """

    def record_acknowledgements(self, application: int) -> None:
        """Records the handshakes and pure acknowledgements that the receiver of an application's
        data sends over TCP from now on: packets of less than 100 bytes."""

    def acknowledgement_records(self, application: int) -> tuple[bytes, bytes]:
        """When each of them left the receiver's host, and reached the sender's; -1 is not yet.

        At the hosts' interfaces, in the order of sending, nanoseconds.
        """

    def meter(self, device: str, port: int, interval_ns: int) -> None:
        """Looks at what a port puts on its line from now on, first one interval from now."""

    def metered(self, device: str, port: int) -> tuple[bytes, bytes]:
        """When the port was looked at, and how many bytes it had put on its line by then.

        With all that its framing adds, and with the MAPs that went before its frames. Bytes count
        when they begin to be sent.
        """

    def sample(self, applications: Iterable[int], interval_ns: int) -> None:
        """Samples applications from now on, first one interval from now; see `samples`."""

    def samples(self, application: int) -> dict[str, bytes]:
        """The samples of an application so far.

        The columns are time_ns and received, and of TCP cwnd, ssthresh, srtt_ns, in_flight and
        retransmissions, as in `transfer_info`.
        """
