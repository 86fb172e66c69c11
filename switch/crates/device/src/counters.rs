// SPDX-License-Identifier: Apache-2.0
//! What happened to frames outside the P4 program and the queues.

use traffic_manager::Traffic;

/// Drops inside a device that neither the program's own counters nor those of
/// ports and service flows show. Lengths are those of the frames as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    /// Dropped: no pipeline is loaded.
    pub no_pipeline: Traffic,
    /// Dropped by the ingress pipeline.
    pub ingress_dropped: Traffic,
    /// Dropped: the multicast group has no replicas, or does not exist.
    pub no_replicas: Traffic,
    /// Dropped: the egress port does not exist.
    pub no_such_port: Traffic,
    /// Dropped: the port has no queue of that priority (bmv2 model).
    pub no_such_priority: Traffic,
    /// Not a drop: the queue_id is not configured, so the frame went to the
    /// port's own queue.
    pub no_such_queue: Traffic,
    /// Dropped by the egress pipeline from a port's own queue.
    pub egress_dropped: Traffic,
    /// Flushed from ports' own queues by a new pipeline.
    pub flushed: Traffic,
    /// Dropped: the controller did not take a packet-in.
    pub packet_in_dropped: Traffic,
    /// Dropped: longer than the switch can receive.
    pub too_long: Traffic,
}
