// SPDX-License-Identifier: Apache-2.0
//! Does what is due: takes frames from the queues through egress to a port or back
//! to ingress, runs delay lines, and sends messages to the controller.

use crate::device::{Device, InFlight, Port};
use crate::drops::DropPlace;
use crate::events::Event;
use crate::output::Output;
use crate::paths::make_clone;
use crate::room::bound;
use traffic_manager::{Commit, LONGEST_FRAME, Offer};
use v1model::trace::{DropReason, TraceEvent};
use v1model::{EgressFate, EgressMetadata, Grants, InstanceType};

/// Entries that one look for idle ones looks at, and the least time between two looks,
/// nanoseconds. No client can choose timeouts for which a device would look all the time.
const MOST_IDLE: usize = 64;
const IDLE_PAUSE: u64 = 500_000;

/// Packets that leave queues before it is the turn of one that goes through
/// ingress again.
const MOST_DEQUEUES: u8 = 16;

/// What egress has made of the frame on offer.
pub(crate) enum Egressed {
    /// There is no pipeline, or nothing on offer.
    NoPipeline,
    /// It is dropped, or on its way back to ingress.
    Gone,
    /// It is in [`Device::out`], to be sent, with a clone of it, if there is one.
    Passed(Option<Box<v1model::Packet>>),
}

impl Device {
    /// Does the next thing that is due by `until`, if any, at the time at which it is
    /// due: one frame leaves, is dropped by egress, reaches ingress or goes through it
    /// again, or the controller is told something. To be called again until it
    /// returns false. Of what is due at one time, the end of a transmit delay comes
    /// first, then what the controller is told, then queues, then packets that go
    /// through ingress again, then the end of a receive delay.
    pub fn step(&mut self, until: u64, output: &mut impl Output) -> bool {
        let far = u64::MAX;
        let sent = self.transmit_lines.next_deadline().unwrap_or(far);
        let told = self.digests.next_deadline().unwrap_or(far);
        let told = told.min(self.idle_deadline());
        let received = self.receive_lines.next_deadline().unwrap_or(far);
        let line = sent.min(told);
        if line > self.time {
            // Queues before packets that go through ingress again, so that copies
            // which one pass makes leave before the next makes more: BMv2's threads do
            // both at once. Full queues do not hold up packets on their way back for
            // ever, though.
            let again = !self.again.is_empty();
            let turn = again && self.dequeues >= MOST_DEQUEUES;
            let limit = if again { self.time } else { far };
            let limit = limit.min(until).min(line - 1).min(received);
            if !turn && self.dequeue(limit, output) {
                self.dequeues = self.dequeues.saturating_add(1);
                return true;
            }
            self.dequeues = 0;
            if again && self.time <= until {
                return self.ingress_again(self.time);
            }
        }
        if line.min(received) > until.max(self.time) {
            return false;
        }
        if line <= received {
            let now = self.advance(line);
            if sent <= told {
                self.end_transmit_delay(now, output);
            } else {
                self.tell(now, output);
            }
        } else {
            let now = self.advance(received);
            self.end_receive_delay(now);
        }
        true
    }

    fn end_transmit_delay(&mut self, now: u64, output: &mut impl Output) {
        if let Some((_, mut arrived)) = self.transmit_lines.pop(now) {
            let port = self.ports[arrived.port as usize].number;
            let (index, paced) = (arrived.port, arrived.paced);
            self.note = arrived.note;
            // The trace has told the end of its packet: it left for the delay line.
            if !self.send(now, index, port, &mut arrived.frame, paced, output) {
                self.drops.note(DropPlace::PacketIn);
            }
            self.buffers.give(arrived.frame);
        }
    }

    fn end_receive_delay(&mut self, now: u64) {
        if let Some((_, mut arrived)) = self.receive_lines.pop(now) {
            let port = self.ports[arrived.port as usize].number;
            self.ingress_of_buffer(now, port, &mut arrived.frame, arrived.note);
            self.buffers.give(arrived.frame);
        }
    }

    /// Whether packets are in queues or on delay lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tm.is_empty()
            && self.again.is_empty()
            && self.receive_lines.next_deadline().is_none()
            && self.transmit_lines.next_deadline().is_none()
    }

    /// Does all that is due by `until`, each thing at its own time.
    pub fn poll(&mut self, until: u64, output: &mut impl Output) {
        while self.step(until, output) {}
    }

    /// When [`Self::step`] next has something to do, to the nanosecond; a time
    /// not after [`Self::time`] is "at once", `None` is "when a frame comes".
    pub fn next_deadline(&mut self) -> Option<u64> {
        if !self.again.is_empty() {
            return Some(0);
        }
        let far = u64::MAX;
        // A departure at `u64::MAX` never comes. It stays at `u64::MAX`, which is no deadline.
        let queues = self.tm.next_deadline();
        let queues = queues.map(|at| at.saturating_add(self.skipped));
        // Long queues have left the caches where their heads are.
        if let Some(next) = self.tm.upcoming() {
            next.packet().fetch();
        }
        let at = queues
            .unwrap_or(far)
            .min(self.receive_lines.next_deadline().unwrap_or(far))
            .min(self.transmit_lines.next_deadline().unwrap_or(far))
            .min(self.digests.next_deadline().unwrap_or(far))
            .min(self.idle_deadline());
        (at < far).then_some(at)
    }

    /// When to look for idle entries. Asked for at every step, so remembered: hits
    /// only make it later, and the control plane's changes are noticed.
    fn idle_deadline(&mut self) -> u64 {
        if self.idle_check == 0 {
            let pipeline = self.pipeline.as_ref();
            let at = pipeline.and_then(|p| p.next_idle_deadline());
            self.idle_check = at.unwrap_or(u64::MAX).max(1);
        }
        self.idle_check
    }

    /// Tells the controller the next thing that it has to know now, if any.
    fn tell(&mut self, now: u64, output: &mut impl Output) -> bool {
        if self.digests.next_deadline().is_some_and(|at| at <= now)
            && let Some(list) = self.digests.pop(now)
        {
            let (digest, list_id, samples) = (list.digest, list.list_id, list.samples.len());
            if !output.event(now, Event::Digests(list)) {
                // Nobody will acknowledge it: the same may be learnt again.
                self.digests.ack(digest, list_id);
                self.counters.digest_dropped.frames += samples as u64;
            }
            return true;
        }
        if self.idle_deadline() <= now
            && let Some(pipeline) = &mut self.pipeline
        {
            let mut expired = Vec::new();
            pipeline.idle_expired(now, MOST_IDLE, &mut expired);
            let next = pipeline.next_idle_deadline().unwrap_or(u64::MAX);
            // There may be more, or an entry of a shorter timeout; packets first. Otherwise a device
            // that is behind the clock would never catch up with a timeout of a nanosecond.
            self.idle_check = next.max(now.saturating_add(IDLE_PAUSE));
            if !expired.is_empty() {
                let entries = expired.len() as u64;
                if !output.event(now, Event::IdleTimeouts(expired)) {
                    self.counters.idle_timeout_dropped.frames += entries;
                }
                return true;
            }
        }
        false
    }

    /// Lets the first frame leave that may by `until`, when it may.
    fn dequeue(&mut self, until: u64, output: &mut impl Output) -> bool {
        let (time, until) = (self.time - self.skipped, until.saturating_sub(self.skipped));
        let Some((at, offer)) = self.tm.offer_by(time, until) else {
            // Timers may have fired, to no avail.
            self.advance(self.tm.now() + self.skipped);
            return false;
        };
        let now = self.advance(at + self.skipped);
        match self.egress_offered(now, &offer, None) {
            // Frames are only queued by a pipeline, and flushed with it.
            Egressed::NoPipeline => return false,
            Egressed::Gone => {}
            Egressed::Passed(copy) => self.commit_offered(now, &offer, copy, output),
        }
        true
    }

    /// Runs the offered frame through egress, where that has not been done: what is to be sent
    /// is in `out` then, and what is known of it in `note`. `grants` are those that let it go.
    #[inline(always)]
    pub(crate) fn egress_offered(
        &mut self,
        now: u64,
        offer: &Offer,
        grants: Option<Grants>,
    ) -> Egressed {
        let (Some(pipeline), Some(queued)) = (&mut self.pipeline, self.tm.offered_mut()) else {
            return Egressed::NoPipeline;
        };
        let mut copy = None;
        self.note = queued.note;
        if queued.done {
            queued.packet_mut().swap_frame(&mut self.out);
        } else {
            let metadata = EgressMetadata {
                port: offer.queue.port,
                rid: queued.rid,
                instance_type: queued.instance_type,
                deq_qdepth: offer.left.frames as u32,
                queue: if offer.shaped {
                    0
                } else {
                    offer.queue.queue_id as u8
                },
                grants,
            };
            let packet = queued.packet_mut();
            let outcome = pipeline.egress(now, &metadata, packet, &mut self.out);
            self.note = self.note.filter(|_| outcome.as_received);
            bound(&mut self.out);
            if let Some(session) = outcome.clone {
                copy = make_clone(
                    pipeline,
                    &mut self.packets,
                    &mut self.replicas,
                    (&mut self.counters, &mut self.drops),
                    session,
                    packet,
                    InstanceType::EgressClone,
                );
            }
            match outcome.fate {
                EgressFate::Send | EgressFate::Recirculate if self.out.len() > LONGEST_FRAME => {
                    self.drop_too_long(now);
                    self.enqueue_clones(now, copy);
                    return Egressed::Gone;
                }
                EgressFate::Send => {}
                EgressFate::Drop => {
                    self.drops.note(DropPlace::Egress);
                    if !offer.shaped {
                        let len = packet.received().len();
                        self.counters.egress_dropped.count(len);
                    }
                    if let Some(dropped) = self.tm.discard() {
                        self.packets.give(dropped.leave(&mut self.uncounted));
                    }
                    self.enqueue_clones(now, copy);
                    return Egressed::Gone;
                }
                EgressFate::Recirculate => {
                    if let Some(back) = self.tm.withdraw() {
                        let mut packet = back.leave(&mut self.uncounted);
                        self.counters.recirculated.count(self.out.len());
                        packet.recirculate(&mut self.out);
                        self.return_to_ingress(now, packet, None);
                    }
                    self.enqueue_clones(now, copy);
                    return Egressed::Gone;
                }
            }
        }
        Egressed::Passed(copy)
    }

    /// The program has made the offered frame longer than any that a device takes.
    #[cold]
    fn drop_too_long(&mut self, now: u64) {
        if let Some(dropped) = self.tm.withdraw() {
            let packet = dropped.leave(&mut self.uncounted);
            let number = packet.trace_number();
            self.counters.too_long.count(packet.received().len());
            self.packets.give(packet);
            self.trace_drop(now, number, DropReason::TooLong);
        }
    }

    /// The offered frame, which egress has let pass, leaves or stays for want of tokens; then the
    /// clone of it is queued.
    #[inline(always)]
    pub(crate) fn commit_offered(
        &mut self,
        now: u64,
        offer: &Offer,
        copy: Option<Box<v1model::Packet>>,
        output: &mut impl Output,
    ) {
        match self.tm.commit(self.out.len()) {
            Some(Commit::Sent(sent)) => {
                let packet = sent.leave(&mut self.uncounted);
                let port = offer.queue.port;
                if let Some(index) = self.looping(port) {
                    self.loop_back(now, index, packet);
                } else {
                    let number = packet.trace_number();
                    self.packets.give(packet);
                    self.leave(now, port, offer.paced, number, output);
                }
            }
            Some(Commit::Held(queued)) => {
                queued.done = true;
                queued.note = self.note;
                queued.packet_mut().swap_frame(&mut self.out);
            }
            Some(Commit::TooLong(dropped)) => {
                let packet = dropped.leave(&mut self.uncounted);
                let number = packet.trace_number();
                self.packets.give(packet);
                self.trace_drop(now, number, DropReason::TooLong);
            }
            None => {}
        }
        self.enqueue_clones(now, copy);
    }

    /// Clones that egress made, for `self.replicas`: queued when the packet
    /// itself has left, as in BMv2, whose queue depths do not count it.
    pub(crate) fn enqueue_clones(&mut self, now: u64, copy: Option<Box<v1model::Packet>>) {
        if let Some(copy) = copy {
            self.replicate(now, copy, InstanceType::EgressClone);
        }
    }

    /// The index of a port, if it loops back.
    #[inline]
    fn looping(&self, port: u16) -> Option<u32> {
        self.index(port)
            .filter(|&index| self.ports[index as usize].loops_back)
    }

    /// The frame in `out` comes from the port that it leaves. Its packet goes round with it, so
    /// that it is known how often it has.
    fn loop_back(&mut self, now: u64, index: u32, mut packet: Box<v1model::Packet>) {
        let length = self.out.len();
        let Port {
            number, counters, ..
        } = &mut self.ports[index as usize];
        let port = *number;
        counters.sent.count(length);
        counters.received.count(length);
        self.trace(
            now,
            packet.trace_number(),
            &TraceEvent::Sent { port, length },
        );
        packet.loop_back(&mut self.out);
        self.return_to_ingress(now, packet, Some(port));
    }

    /// The frame in `out` starts on the link from a port. `number` is the
    /// packet's in the trace.
    fn leave(&mut self, now: u64, port: u16, paced: bool, number: u64, output: &mut impl Output) {
        let length = self.out.len();
        let Some(index) = self.index(port) else {
            // The bmv2 model has queues for ports that do not exist.
            self.counters.no_such_port.count(length);
            self.trace_drop(now, number, DropReason::NoSuchPort { port });
            return;
        };
        let line = self.ports[index as usize].transmit_line;
        if self.transmit_lines.is_wire(line) {
            let mut out = std::mem::take(&mut self.out);
            let taken = self.send(now, index, port, &mut out, paced, output);
            self.out = out;
            if taken {
                self.trace(now, number, &TraceEvent::Sent { port, length });
            } else {
                self.trace_drop(now, number, DropReason::PacketIn);
            }
        } else if self.transmit_lines.loses(line) {
            let counters = &mut self.ports[index as usize].counters;
            counters.transmit_lost.count(length);
            self.trace_drop(now, number, DropReason::Link { port });
        } else if self.transmit_lines.has_room(line, self.out.len()) {
            let spare = self.buffers.take();
            let frame = std::mem::replace(&mut self.out, spare);
            let len = frame.len();
            let in_flight = InFlight {
                port: index,
                paced,
                frame,
                note: self.note,
            };
            self.transmit_lines.push(now, line, len, in_flight);
            self.trace(now, number, &TraceEvent::Sent { port, length });
        } else {
            let counters = &mut self.ports[index as usize].counters;
            counters.transmit_overflow.count(length);
            self.trace_drop(now, number, DropReason::LineFull { port });
        }
    }

    /// False: the controller did not take it.
    fn send(
        &mut self,
        now: u64,
        index: u32,
        port: u16,
        frame: &mut Vec<u8>,
        paced: bool,
        output: &mut impl Output,
    ) -> bool {
        let len = frame.len();
        if self.config.cpu_port == Some(port) {
            if !output.packet_in(now, frame) {
                self.counters.packet_in_dropped.count(len);
                return false;
            }
        } else {
            output.transmit_noted(now, port, frame, paced, self.note);
            if output.is_full(port) {
                self.tm.set_held(port, true);
            }
        }
        self.ports[index as usize].counters.sent.count(len);
        true
    }
}
