// SPDX-License-Identifier: Apache-2.0
//! From a port into the queues: receive, ingress, clone, replicate, resubmit.
//!
//! Packets that are resubmitted, recirculated or looped back wait in a queue of their own while others
//! leave, so that other work goes on between two passes. A packet ends after [`MOST_PASSES`] of them: no program can keep a
//! device busy for ever.

use crate::counters::DeviceCounters;
use crate::device::{Device, InFlight, Returned};
use crate::drops::{DropPlace, Drops};
use crate::output::Note;
use crate::queued::{MOST_PACKETS, Queued};
use crate::room::{Packets, fit};
use crate::trace::copy_kind;
use traffic_manager::{Destination, LONGEST_FRAME, ModelKind, Place, Slot, Traffic};
use v1model::trace::{DropReason, TraceEvent};
use v1model::{Fate, IngressOutcome, InstanceType, Packet, Pipeline, Replica};

/// How often a packet may be resubmitted, recirculated, looped back or cloned at egress, and
/// what becomes of it be again, before it is dropped. BMv2 has no such limit.
pub const MOST_PASSES: u16 = 1024;
/// Packets that may wait to go through ingress again, as in BMv2.
pub const AGAIN: usize = 1024;

/// Where a frame goes that came from a port's wire, and its time.
enum Arrival {
    /// Through ingress at once.
    Ingress(u64),
    /// Onto the receive delay line of the port with this index.
    Line(u64, u32),
    /// Nowhere.
    Lost,
}

impl Device {
    /// A frame came from a port's wire.
    ///
    /// What was due before `now` is to have happened: see [`Self::step`]. A time before
    /// [`Self::time`] is that time.
    pub fn receive(&mut self, now: u64, port: u16, frame: &[u8]) {
        match self.arrive(now, port, frame.len()) {
            Arrival::Ingress(now) => self.ingress(now, port, frame),
            Arrival::Line(now, index) => {
                let mut buffer = self.buffers.take();
                buffer.clear();
                buffer.extend_from_slice(frame);
                self.delay(now, index, buffer, None);
            }
            Arrival::Lost => {}
        }
    }

    /// Like [`Self::receive`], of a buffer whose content may be taken and another buffer,
    /// with anything in it, left in its place: saves a copy. The note comes back with
    /// [`Output::transmit_noted`](crate::Output::transmit_noted).
    pub fn receive_buffer(&mut self, now: u64, port: u16, frame: &mut Vec<u8>, note: Option<Note>) {
        match self.arrive(now, port, frame.len()) {
            Arrival::Ingress(now) => self.ingress_of_buffer(now, port, frame, note),
            Arrival::Line(now, index) => {
                let buffer = self.buffers.take();
                let mut frame = std::mem::replace(frame, buffer);
                fit(&mut frame);
                self.delay(now, index, frame, note);
            }
            Arrival::Lost => {}
        }
    }

    /// Counts a frame that came, and says where it goes.
    fn arrive(&mut self, now: u64, port: u16, len: usize) -> Arrival {
        let now = self.advance(now);
        let Some(index) = self.index(port) else {
            self.counters.no_such_port.count(len);
            self.drops.note(DropPlace::NoSuchPort);
            return Arrival::Lost;
        };
        let entry = &mut self.ports[index as usize];
        entry.counters.received.count(len);
        if self.receive_lines.is_wire(entry.receive_line) {
            Arrival::Ingress(now)
        } else if self.receive_lines.loses(entry.receive_line) {
            entry.counters.receive_lost.count(len);
            self.drops.note(DropPlace::Link);
            Arrival::Lost
        } else if self.receive_lines.has_room(entry.receive_line, len) {
            Arrival::Line(now, index)
        } else {
            entry.counters.receive_overflow.count(len);
            self.drops.note(DropPlace::LineFull);
            Arrival::Lost
        }
    }

    /// A frame for which there is room goes onto its port's receive delay line.
    fn delay(&mut self, now: u64, port: u32, frame: Vec<u8>, note: Option<Note>) {
        let (line, len) = (self.ports[port as usize].receive_line, frame.len());
        let in_flight = InFlight {
            port,
            paced: false,
            frame,
            note,
        };
        self.receive_lines.push(now, line, len, in_flight);
    }

    /// A packet-out: its bit-packed header and the frame, together not longer than
    /// [`LONGEST_FRAME`]. A longer one is dropped, as if an interface had received it.
    pub fn packet_out(&mut self, now: u64, bytes: &[u8]) {
        if bytes.len() > LONGEST_FRAME {
            self.receive_too_long(bytes.len());
        } else if let Some(port) = self.config.cpu_port {
            self.receive(now, port, bytes);
        }
    }

    /// A frame of `len` bytes was too long for the shell to receive it whole.
    pub fn receive_too_long(&mut self, len: usize) {
        self.counters.too_long.count(len);
    }

    /// The interface did not take frames that
    /// [`Output::transmit`](crate::Output::transmit) got.
    pub fn send_failed(&mut self, port: u16, failed: Traffic) {
        if let Some(index) = self.index(port) {
            let counters = &mut self.ports[index as usize].counters;
            counters.sent.frames -= failed.frames;
            counters.sent.bytes -= failed.bytes;
            counters.send_failed.add(failed);
        }
    }

    pub(crate) fn ingress(&mut self, now: u64, port: u16, frame: &[u8]) {
        self.ingress_with(now, port, frame.len(), None, |buffer| {
            buffer.extend_from_slice(frame);
        });
    }

    /// Like [`Self::ingress`], of a buffer for which another one is left.
    pub(crate) fn ingress_of_buffer(
        &mut self,
        now: u64,
        port: u16,
        frame: &mut Vec<u8>,
        note: Option<Note>,
    ) {
        self.ingress_with(now, port, frame.len(), note, |buffer| {
            std::mem::swap(buffer, frame);
            fit(buffer);
        });
    }

    /// `fill` puts the frame into an empty buffer.
    #[inline]
    fn ingress_with(
        &mut self,
        now: u64,
        port: u16,
        len: usize,
        note: Option<Note>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        let Some(pipeline) = &mut self.pipeline else {
            self.counters.no_pipeline.count(len);
            self.drops.note(DropPlace::NoPipeline);
            return;
        };
        let mut packet = self.packets.take();
        fill(packet.buffer());
        let outcome = pipeline.ingress_buffered(now, port, &mut packet);
        self.after_ingress(now, packet, outcome, note);
    }

    /// Another pass of the packet that has waited longest for it, if any.
    pub(crate) fn ingress_again(&mut self, now: u64) -> bool {
        let Some(Returned {
            mut packet,
            from,
            note,
        }) = self.again.pop_front()
        else {
            return false;
        };
        let Some(pipeline) = &mut self.pipeline else {
            // Packets only wait here for a pipeline, and are flushed with it.
            return false;
        };
        let outcome = match from {
            Some(port) => pipeline.ingress_looped(now, port, &mut packet),
            None => pipeline.ingress_again(&mut packet),
        };
        self.after_ingress(now, packet, outcome, note);
        true
    }

    fn after_ingress(
        &mut self,
        now: u64,
        packet: Box<Packet>,
        outcome: IngressOutcome,
        note: Option<Note>,
    ) {
        if outcome.clone.is_some() || outcome.digest.is_some() {
            self.clone_and_digest(now, &packet, outcome);
        }
        match outcome.fate {
            Fate::Unicast { port } => {
                let queued = Queued::new(packet, 0, InstanceType::Normal, note);
                self.enqueue(now, port, queued);
            }
            Fate::Multicast { group } => {
                self.replicas.clear();
                if let Some(pipeline) = &self.pipeline {
                    let replicas = pipeline.multicast().replicas(u32::from(group));
                    self.replicas.extend_from_slice(replicas);
                }
                let len = packet.received().len();
                let number = packet.trace_number();
                match self.replicas.len() {
                    0 => {
                        self.counters.no_replicas.count(len);
                        self.trace_drop(now, number, DropReason::NoReplicas { group });
                    }
                    n => {
                        count_copies(&mut self.counters.multicast_copies, n - 1, len);
                        let copies = n;
                        self.trace(now, number, &TraceEvent::Replicated { group, copies });
                    }
                }
                self.replicate(now, packet, InstanceType::Replication);
            }
            Fate::Resubmit => {
                self.counters.resubmitted.count(packet.received().len());
                self.return_to_ingress(now, packet, None);
            }
            Fate::Drop => {
                self.counters.ingress_dropped.count(packet.received().len());
                self.drops.note(DropPlace::Ingress);
                self.packets.give(packet);
            }
        }
    }

    /// What the end of ingress asked for beside the packet's own fate.
    fn clone_and_digest(&mut self, now: u64, packet: &Packet, outcome: IngressOutcome) {
        let Some(pipeline) = &mut self.pipeline else {
            return;
        };
        if let Some(session) = outcome.clone {
            let copy = make_clone(
                pipeline,
                &mut self.packets,
                &mut self.replicas,
                (&mut self.counters, &mut self.drops),
                session,
                packet,
                InstanceType::IngressClone,
            );
            if let Some(copy) = copy {
                self.replicate(now, copy, InstanceType::IngressClone);
            }
        }
        if let (Some(digest), Some(pipeline)) = (outcome.digest, &self.pipeline) {
            let lost = self.digests.learn(now, pipeline, packet, digest);
            if lost {
                self.counters.digest_dropped.count(packet.received().len());
            }
        }
    }

    /// A packet to wait for its next pass: resubmitted or recirculated, or `from` a port that loops
    /// back, with the note of its frame.
    pub(crate) fn return_to_ingress(&mut self, now: u64, packet: Box<Packet>, from: Option<u16>) {
        let len = packet.received().len();
        if packet.passes() >= MOST_PASSES {
            self.counters.too_many_passes.count(len);
            self.trace_drop(now, packet.trace_number(), DropReason::TooManyPasses);
            self.packets.give(packet);
        } else if self.again.len() >= AGAIN {
            self.counters.ingress_queue_full.count(len);
            self.trace_drop(now, packet.trace_number(), DropReason::IngressQueueFull);
            self.packets.give(packet);
        } else {
            // What is resubmitted or recirculated may be a frame that a pipeline made.
            let note = from.and(self.note);
            self.again.push_back(Returned { packet, from, note });
        }
    }

    /// The packet goes to each of `self.replicas`.
    pub(crate) fn replicate(
        &mut self,
        now: u64,
        mut packet: Box<Packet>,
        instance_type: InstanceType,
    ) {
        let number = packet.trace_number();
        let Some(last) = self.replicas.len().checked_sub(1) else {
            self.packets.give(packet);
            return;
        };
        for n in 0..last {
            let mut copy = self.packets.take();
            copy.copy_from(&packet);
            self.trace_copy(number, instance_type, &mut copy);
            self.enqueue_replica(now, self.replicas[n], copy, instance_type);
        }
        // A multicast packet ends where its replicas begin; a clone goes on.
        if instance_type == InstanceType::Replication {
            self.trace_copy(number, instance_type, &mut packet);
        }
        self.enqueue_replica(now, self.replicas[last], packet, instance_type);
    }

    fn enqueue_replica(
        &mut self,
        now: u64,
        replica: Replica,
        packet: Box<Packet>,
        instance_type: InstanceType,
    ) {
        let queued = Queued::new(packet, replica.instance, instance_type, None);
        self.enqueue(now, replica.port, queued);
    }

    /// The queue for a packet; without one it is counted as dropped.
    fn find_queue(&mut self, now: u64, to: Destination, len: usize, number: u64) -> Option<Slot> {
        let port = to.port;
        match self.tm.place(to) {
            Place::Queue(slot) => Some(slot),
            Place::OwnQueue(slot) => {
                self.counters.no_such_queue.count(len);
                Some(slot)
            }
            Place::NoPort => {
                self.counters.no_such_port.count(len);
                self.trace_drop(now, number, DropReason::NoSuchPort { port });
                None
            }
            Place::NoPriority => {
                self.counters.no_such_priority.count(len);
                let priority = to.priority;
                self.trace_drop(now, number, DropReason::NoSuchPriority { port, priority });
                None
            }
        }
    }

    pub(crate) fn enqueue(&mut self, now: u64, port: u16, mut queued: Queued) {
        let Some(pipeline) = &self.pipeline else {
            return;
        };
        let len = pipeline.frame_len(queued.packet());
        let to = Destination {
            port,
            queue_id: pipeline.queue_id(queued.packet()),
            priority: pipeline.priority(queued.packet()),
        };
        let sub_queue = pipeline.sub_queue(queued.packet());
        let number = queued.packet().trace_number();
        let Some(slot) = self.find_queue(now, to, len, number) else {
            self.packets.give(queued.leave(&mut self.uncounted));
            return;
        };
        let depth = self.tm.depth(slot).frames as u32;
        if let Some(pipeline) = &self.pipeline {
            pipeline.mark_enqueued(now, depth, queued.packet_mut());
        }
        let queue = match self.tm.kind() {
            ModelKind::Docsis => to.queue_id,
            ModelKind::Bmv2 { .. } => u32::from(to.priority),
        };
        let earning = now - self.skipped;
        let full = self.packets.used() > MOST_PACKETS || !self.uncounted.note(len, &mut queued);
        let taken = if full {
            self.tm.refuse(slot, len);
            Err(queued)
        } else if self.tm.suppresses_acks(slot) {
            self.enqueue_segment(slot, len, queued)
        } else {
            self.tm.enqueue(earning, slot, sub_queue, len, queued)
        };
        match taken {
            Ok(()) => {
                let queued = TraceEvent::Queued { port, queue, depth };
                self.trace(now, number, &queued);
            }
            Err(refused) => {
                self.trace_drop(now, number, DropReason::QueueFull { port, queue });
                self.packets.give(refused.leave(&mut self.uncounted));
            }
        }
        if !self.suppressed.is_empty() {
            self.account_for_suppressed(now, to);
        }
    }
}

/// A clone of a packet at the end of its ingress or egress, for the session's
/// replicas, which are put into `replicas`. None without session or replicas.
pub(crate) fn make_clone(
    pipeline: &mut Pipeline,
    packets: &mut Packets,
    replicas: &mut Vec<Replica>,
    (counters, drops): (&mut DeviceCounters, &mut Drops),
    session: u16,
    packet: &Packet,
    instance_type: InstanceType,
) -> Option<Box<Packet>> {
    let len = packet.received().len();
    let Some(session) = pipeline.clone_sessions().get(u32::from(session)) else {
        counters.no_clone_session.count(len);
        return None;
    };
    replicas.clear();
    replicas.extend_from_slice(&session.replicas);
    let bytes = session.packet_length_bytes;
    if replicas.is_empty() {
        return None;
    }
    let copies = replicas.len();
    if instance_type == InstanceType::IngressClone {
        count_copies(&mut counters.ingress_clones, copies, len);
        let mut copy = packets.take();
        pipeline.clone_ingress(packet, bytes, &mut copy);
        pipeline.trace_copy(packet.trace_number(), copy_kind(instance_type), &mut copy);
        return Some(copy);
    }
    count_copies(&mut counters.egress_clones, copies, len);
    if packet.passes() >= MOST_PASSES {
        count_copies(&mut counters.too_many_passes, copies, len);
        drops.note_all(DropPlace::TooManyPasses, copies as u64);
        return None;
    }
    let mut copy = packets.take();
    pipeline.clone_egress(packet, bytes, &mut copy);
    pipeline.trace_copy(packet.trace_number(), copy_kind(instance_type), &mut copy);
    Some(copy)
}

fn count_copies(counter: &mut Traffic, copies: usize, len: usize) {
    counter.frames += copies as u64;
    counter.bytes += (copies * len) as u64;
}
