// SPDX-License-Identifier: Apache-2.0
//! One of the two traffic managers, behind the calls that they share.

use crate::config::{Configuration, PortConfig, ServiceFlowState};
use crate::error::ConfigError;
use crate::packet_queue_config::PacketQueueState;
use crate::queue_id::QueueId;
use crate::traffic::Traffic;

use crate::length::frame_length;
use crate::manager::{Commit, Offer, SegmentArrival, Slot, TrafficManager};
use crate::packet_queues::PacketQueues;

/// Which traffic manager a device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKind {
    /// Service-flow queues with dual token buckets.
    Docsis,
    /// BMv2's queues in packets.
    Bmv2 {
        /// Queues on each port, 1 to [`crate::MAX_PRIORITIES`].
        priorities: u8,
    },
}

/// Where a packet is to be queued, as a program says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    /// The egress port.
    pub port: u16,
    /// The metadata field `queue_id`, which says it to the docsis model.
    pub queue_id: u32,
    /// `standard_metadata.priority`, which says it to the bmv2 model.
    pub priority: u8,
}

/// Where [`Model::place`] puts a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Into this queue.
    Queue(Slot),
    /// Into the port's own queue: the docsis model has no such `queue_id`.
    OwnQueue(Slot),
    /// Nowhere: there is no such port.
    NoPort,
    /// Nowhere: the bmv2 model has no such priority.
    NoPriority,
}

/// A device's traffic manager. `T` is a packet on its way.
// One to a device, and behind no pointer on a packet's way.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Model<T> {
    /// Service-flow queues with dual token buckets.
    Docsis(TrafficManager<T>),
    /// BMv2's queues in packets.
    Bmv2(PacketQueues<T>),
}

/// The same call to whichever it is.
macro_rules! either {
    ($model:expr, $tm:ident => $call:expr) => {
        match $model {
            Self::Docsis($tm) => $call,
            Self::Bmv2($tm) => $call,
        }
    };
}

impl<T> Model<T> {
    /// A traffic manager without ports.
    #[must_use]
    pub fn new(kind: ModelKind) -> Self {
        match kind {
            ModelKind::Docsis => Self::Docsis(TrafficManager::default()),
            ModelKind::Bmv2 { priorities } => Self::Bmv2(PacketQueues::new(priorities)),
        }
    }

    /// Which it is.
    #[must_use]
    pub fn kind(&self) -> ModelKind {
        match self {
            Self::Docsis(_) => ModelKind::Docsis,
            Self::Bmv2(tm) => ModelKind::Bmv2 {
                priorities: tm.priorities(),
            },
        }
    }

    /// Adds a port; one that is there stays as it is.
    pub fn add_port(&mut self, port: u16) {
        either!(self, tm => tm.add_port(port));
    }

    /// The queue for a packet.
    pub fn place(&mut self, to: Destination) -> Place {
        match self {
            Self::Docsis(tm) => {
                let port = to.port;
                let queue_id = to.queue_id;
                match tm.lookup(QueueId { port, queue_id }) {
                    Some(slot) => Place::Queue(slot),
                    None => match tm.lookup(QueueId { port, queue_id: 0 }) {
                        Some(slot) => Place::OwnQueue(slot),
                        None => Place::NoPort,
                    },
                }
            }
            Self::Bmv2(tm) => match tm.queue(to.port, to.priority) {
                Some(slot) => Place::Queue(slot),
                None => Place::NoPriority,
            },
        }
    }

    /// What is queued there now.
    #[must_use]
    pub fn depth(&self, slot: Slot) -> Traffic {
        either!(self, tm => tm.depth(slot))
    }

    /// Queues a packet that has `len` bytes on an interface, in the docsis model in a
    /// sub-queue.
    ///
    /// # Errors
    /// Hands the packet back, counted as overflow.
    pub fn enqueue(
        &mut self,
        now: u64,
        slot: Slot,
        sub_queue: u32,
        len: usize,
        item: T,
    ) -> Result<(), T> {
        match self {
            Self::Docsis(tm) => tm.enqueue(now, slot, sub_queue, frame_length(len), item),
            Self::Bmv2(tm) => tm.enqueue(now, slot, len, item),
        }
    }

    /// Counts a packet that has `len` bytes on an interface as overflow: it is not to be queued.
    #[cold]
    #[inline(never)]
    pub fn refuse(&mut self, slot: Slot, len: usize) {
        match self {
            Self::Docsis(tm) => tm.refuse(slot, frame_length(len)),
            Self::Bmv2(tm) => tm.refuse(slot, len),
        }
    }

    /// Whether frames for this queue are to come with their segments, by
    /// [`Self::enqueue_segment`].
    #[inline]
    #[must_use]
    pub fn suppresses_acks(&self, slot: Slot) -> bool {
        match self {
            Self::Docsis(tm) => tm.suppresses_acks(slot),
            Self::Bmv2(_) => false,
        }
    }

    /// [`TrafficManager::enqueue_segment`] of a packet that has `len` bytes on an interface.
    ///
    /// # Errors
    /// Hands the packet back, counted as overflow.
    pub fn enqueue_segment(
        &mut self,
        now: u64,
        slot: Slot,
        len: usize,
        item: T,
        arrival: SegmentArrival<'_, T>,
    ) -> Result<(), T> {
        match self {
            Self::Docsis(tm) => tm.enqueue_segment(now, slot, frame_length(len), item, arrival),
            Self::Bmv2(tm) => tm.enqueue(now, slot, len, item),
        }
    }

    /// The link of a port takes nothing for now, or takes frames again. The
    /// docsis model sends at its own rates, whatever the link says.
    pub fn set_held(&mut self, port: u16, held: bool) {
        if let Self::Bmv2(tm) = self {
            tm.set_held(port, held);
        }
    }

    /// The packet that leaves next, if one may leave now. It stays at the head
    /// of its queue until [`Self::commit`] or [`Self::discard`].
    pub fn offer(&mut self, now: u64) -> Option<Offer> {
        either!(self, tm => tm.offer(now))
    }

    /// The packet that leaves next, if one may leave by `until`, and when it may: not
    /// before `now`. Without one [`Self::now`] may have gone on, but not beyond `until`.
    pub fn offer_by(&mut self, now: u64, until: u64) -> Option<(u64, Offer)> {
        either!(self, tm => tm.offer_by(now, until))
    }

    /// The traffic manager's time.
    #[must_use]
    pub fn now(&self) -> u64 {
        either!(self, tm => tm.now())
    }

    /// The offered packet.
    pub fn offered_mut(&mut self) -> Option<&mut T> {
        either!(self, tm => tm.offered_mut())
    }

    /// [`TrafficManager::upcoming`]; of the bmv2 model nobody knows it.
    #[inline]
    pub fn upcoming(&mut self) -> Option<&T> {
        match self {
            Self::Docsis(tm) => tm.upcoming(),
            Self::Bmv2(_) => None,
        }
    }

    /// The offered packet leaves, with `len` bytes on an interface after egress.
    /// `None` when nothing is on offer.
    pub fn commit(&mut self, len: usize) -> Option<Commit<'_, T>> {
        match self {
            Self::Docsis(tm) => tm.commit(frame_length(len)),
            Self::Bmv2(tm) => tm.commit(),
        }
    }

    /// The offered packet leaves, but not for the link, as egress recirculates it.
    pub fn withdraw(&mut self) -> Option<T> {
        either!(self, tm => tm.withdraw())
    }

    /// The egress pipeline dropped the offered packet.
    pub fn discard(&mut self) -> Option<T> {
        either!(self, tm => tm.discard())
    }

    /// [`TrafficManager::occupy`]; the bmv2 model's ports have no rate.
    pub fn occupy(&mut self, now: u64, port: u16, bytes: u64) {
        if let Self::Docsis(tm) = self {
            tm.occupy(now, port, bytes);
        }
    }

    /// When [`Self::offer`] may have a packet, exact to the nanosecond; a time
    /// not after the last call's is "now".
    pub fn next_deadline(&mut self) -> Option<u64> {
        either!(self, tm => tm.next_deadline())
    }

    /// Applies a whole request, or nothing of it. Packets of removed queues go
    /// to `sink`.
    ///
    /// # Errors
    /// A value out of range, or something that the other model has.
    pub fn configure(
        &mut self,
        now: u64,
        request: &Configuration,
        sink: &mut dyn FnMut(T),
    ) -> Result<(), ConfigError> {
        match self {
            Self::Docsis(tm) => tm.configure(now, request, sink),
            Self::Bmv2(tm) => tm.configure(now, request),
        }
    }

    /// Hands every queued packet back, counted as flushed.
    pub fn flush(&mut self, now: u64, sink: &mut dyn FnMut(T)) {
        either!(self, tm => tm.flush(now, sink));
    }

    /// A port's configuration, and of its own queue (docsis) or all its queues
    /// (bmv2) what overflowed and what is in there now.
    #[must_use]
    pub fn port_state(&self, port: u16) -> Option<(PortConfig, Traffic, Traffic)> {
        either!(self, tm => tm.port_state(port))
    }

    /// [`TrafficManager::line_bytes`]; the bmv2 model counts none.
    #[must_use]
    pub fn line_bytes(&self, port: u16) -> Option<u64> {
        match self {
            Self::Docsis(tm) => tm.line_bytes(port),
            Self::Bmv2(_) => None,
        }
    }

    /// Every service flow, by port and queue_id; none in the bmv2 model.
    #[must_use]
    pub fn service_flows(&self, now: u64) -> Vec<ServiceFlowState> {
        match self {
            Self::Docsis(tm) => tm.service_flows(now),
            Self::Bmv2(_) => Vec::new(),
        }
    }

    /// Every queue of the bmv2 model, by port and priority; none in the docsis model.
    #[must_use]
    pub fn packet_queues(&self) -> Vec<PacketQueueState> {
        match self {
            Self::Docsis(_) => Vec::new(),
            Self::Bmv2(tm) => tm.packet_queues(),
        }
    }

    /// Whether nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        either!(self, tm => tm.is_empty())
    }
}
