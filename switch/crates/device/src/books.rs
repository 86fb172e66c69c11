// SPDX-License-Identifier: Apache-2.0
//! Every frame of a device, counted once: what came, what went, and what is still there.

use crate::device::Device;

/// Frames of a device over its whole life, whatever pipelines it ran meanwhile.
///
/// `received + entered + copied = sent + left + dropped + emptied + held`, at any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Books {
    /// From wires.
    pub received: u64,
    /// Packet-outs, and what came again from a port that loops back.
    pub entered: u64,
    /// Copies that multicast and clones made, beyond the frames themselves.
    pub copied: u64,
    /// To wires, with what an interface did not take.
    pub sent: u64,
    /// Packet-ins, and what left through a port that loops back.
    pub left: u64,
    /// Dropped one by one, wherever that was.
    pub dropped: u64,
    /// Taken out of queues by a new pipeline, or with a queue that was removed.
    pub emptied: u64,
    /// In queues, on delay lines, and on the way through ingress again.
    pub held: u64,
}

impl Books {
    /// Whether every frame is counted once.
    #[must_use]
    pub fn balance(&self) -> bool {
        self.received + self.entered + self.copied
            == self.sent + self.left + self.dropped + self.emptied + self.held
    }
}

impl Device {
    /// The frames of the device so far.
    #[must_use]
    pub fn books(&self) -> Books {
        let mut books = Books {
            copied: self.counters.multicast_copies.frames
                + self.counters.ingress_clones.frames
                + self.counters.egress_clones.frames,
            dropped: self.drops.total(),
            emptied: self.emptied,
            held: (self.receive_lines.frames() + self.transmit_lines.frames() + self.again.len())
                as u64,
            ..Books::default()
        };
        for port in &self.ports {
            let received = port.counters.received.frames;
            let sent = port.counters.sent.frames + port.counters.send_failed.frames;
            if port.loops_back || self.config.cpu_port == Some(port.number) {
                books.entered += received;
                books.left += sent;
            } else {
                books.received += received;
                books.sent += sent;
            }
            if let Some((_, _, queued)) = self.tm.port_state(port.number) {
                books.held += queued.frames;
            }
        }
        // The bmv2 model has queues for ports that do not exist, too.
        let nowhere = self.tm.packet_queues().into_iter();
        books.held += nowhere
            .filter(|queue| self.index(queue.config.queue.port).is_none())
            .map(|queue| queue.queued.frames)
            .sum::<u64>();
        let queues = self.tm.service_flows(self.tm.now());
        books.held += queues.iter().map(|queue| queue.queued.frames).sum::<u64>();
        books
    }
}
