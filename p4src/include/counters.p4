// SPDX-License-Identifier: Apache-2.0
//
// Every frame from a network port is counted once as received and once for
// what became of it, under its service flow or under 0 where it has none:
//
//   sf_received = sf_forwarded + sf_flooded + sum of sf_drop_* + queued
//
// sf_flooded is the fate of frames without a service flow that a multicast
// group copied (their copies show in port_sent only). Packet-outs that
// transmit count under 0 as well.

counter(PORTS, CounterType.packets_and_bytes) port_received;
counter(PORTS, CounterType.packets_and_bytes) port_sent;

counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_received;
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_forwarded;
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_flooded;

// The frame would not fit into the service flow's buffer.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_drop_buffer_full;
// Active queue management chose the frame.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_drop_aqm;
// Longer than the service flow may ever send.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_drop_policed;
// The modem has no primary service flow, or the service flow is not provisioned.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_drop_no_classifier;
// Truncated, or with an impossible header.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_drop_malformed;
// The ingress port or the destination is not provisioned.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_drop_unroutable;

// Times that the books of the service flow's queue were brought back to the truth, because
// frames were lost between ingress and egress (resynchronize.p4); no fate either.
counter(SERVICE_FLOWS, CounterType.packets) sf_resynchronized;

// Frames spared from active queue management because the controller was silent;
// not a fate of its own.
counter(SERVICE_FLOWS, CounterType.packets_and_bytes) sf_controller_silent;
