// SPDX-License-Identifier: Apache-2.0
//! Packets through a pipeline: ingress, egress, and from one to the other and
//! back as clones, resubmitted and recirculated packets. The order of events is
//! BMv2's (`simple_switch`).

use crate::carry::Given;
use crate::code::Code;
use crate::machine::{self, Outcome};
use crate::outcome::*;
use crate::packet::Packet;
use crate::paths::{CLONE_REQUESTED, CarriedField, DigestField, PacketSlots, PathCode};
use crate::pipeline::{Pipeline, microseconds};
use crate::schema::DigestId;
use crate::trace::{Off, Tracer};
use crate::wire;

impl Pipeline {
    /// Parses a frame into `packet` and runs the ingress pipeline.
    ///
    /// `now_ns`: nanoseconds since the device started. A frame for a
    /// packet-out comes from the CPU port, with its bit-packed header in front.
    pub fn ingress(
        &mut self,
        now_ns: u64,
        port: u16,
        frame: &[u8],
        packet: &mut Packet,
    ) -> IngressOutcome {
        packet.frame.clear();
        packet.frame.extend_from_slice(frame);
        self.ingress_buffered(now_ns, port, packet)
    }

    /// Like [`Pipeline::ingress`], for a frame that was put into
    /// [`Packet::buffer`] before: saves a copy.
    pub fn ingress_buffered(
        &mut self,
        now_ns: u64,
        port: u16,
        packet: &mut Packet,
    ) -> IngressOutcome {
        self.receive(now_ns, port, packet);
        if self.trace.is_on() {
            self.begin_trace(now_ns, port, packet);
        }
        self.ingress_of(packet)
    }

    /// Runs ingress for a packet that was resubmitted ([`Fate::Resubmit`]) or
    /// recirculated ([`Packet::recirculate`]). Of its metadata only what its
    /// field list names is kept, as in BMv2; `ingress_port` is not.
    pub fn ingress_again(&mut self, packet: &mut Packet) -> IngressOutcome {
        if packet.program != self.program.id {
            return IngressOutcome::only(Fate::Drop);
        }
        self.return_to_ingress(packet);
        self.ingress_of(packet)
    }

    /// Runs ingress for a frame that comes from the port that it was sent to
    /// ([`Packet::loop_back`]): as for one that was received there, but that its passes are counted.
    pub fn ingress_looped(
        &mut self,
        now_ns: u64,
        port: u16,
        packet: &mut Packet,
    ) -> IngressOutcome {
        let passes = packet.passes;
        self.receive(now_ns, port, packet);
        packet.passes = passes.saturating_add(1);
        if self.trace.is_on() {
            self.begin_trace(now_ns, port, packet);
        }
        self.ingress_of(packet)
    }

    #[inline]
    fn ingress_of(&mut self, packet: &mut Packet) -> IngressOutcome {
        if packet.trace == 0 {
            self.run_ingress(packet, &mut Off)
        } else {
            self.traced_ingress(packet)
        }
    }

    /// Gets a received frame ready for the parser.
    pub(crate) fn receive(&mut self, now_ns: u64, port: u16, packet: &mut Packet) {
        self.state.now_ns = now_ns;
        let program = &*self.program;
        packet.reset(program, &mut self.phv, self.trace.is_on());
        packet.port = port;
        packet.passes = 0;
        packet.trace = 0;
        let standard = &program.code.standard;
        let bytes = packet.len as u64;
        let now = microseconds(now_ns);
        let mut set = |slot, value| program.code.paths.set(&mut self.phv, slot, value);
        set(standard.ingress_port, u64::from(port));
        set(standard.packet_length, bytes);
        set(standard.instance_type, InstanceType::Normal as u64);
        set(standard.ingress_global_timestamp, now);
    }

    /// Gets a resubmitted or recirculated packet ready for the parser.
    pub(crate) fn return_to_ingress(&mut self, packet: &mut Packet) {
        let program = &*self.program;
        let code = &program.code;
        let slots = &code.paths.slots;
        let (flag, instance) = if std::mem::take(&mut packet.recirculated) {
            (slots.recirculate, InstanceType::Recirculated)
        } else {
            (slots.resubmit, InstanceType::Resubmitted)
        };
        self.state.carried.clear();
        let mut list = 0;
        if let Some(saved) = packet.all() {
            list = saved[usize::from(flag)].saturating_sub(1);
            for field in fields(&code.paths, list) {
                let first = usize::from(field.slot);
                let values = &saved[first..first + usize::from(field.words)];
                self.state.carried.extend_from_slice(values);
            }
        }
        packet.reset(program, &mut self.phv, packet.trace != 0);
        packet.passes = packet.passes.saturating_add(1);
        let mut carried = self.state.carried.iter();
        for field in fields(&code.paths, list) {
            let first = usize::from(field.slot);
            let to = self.phv[first..first + usize::from(field.words)].iter_mut();
            to.zip(&mut carried).for_each(|(to, value)| *to = *value);
        }
        let standard = &code.standard;
        let bytes = packet.len as u64;
        let mut set = |slot, value| code.paths.set(&mut self.phv, slot, value);
        set(standard.instance_type, instance as u64);
        set(standard.packet_length, bytes);
    }

    /// The parser, the ingress pipeline and what they decided.
    pub(crate) fn run_ingress<T: Tracer>(
        &mut self,
        packet: &mut Packet,
        tracer: &mut T,
    ) -> IngressOutcome {
        let program = &*self.program;
        let code = program.code_for::<T>();
        let state = &mut self.state;
        let phv = self.phv.as_mut_slice();
        let bytes = packet.len as u64;
        if T::ENABLED {
            tracer.pass("parser");
        }
        let parsed = machine::run(program, state, code.parser, phv, packet, bytes, tracer);
        if parsed == Outcome::Failed {
            return IngressOutcome::only(Fate::Drop);
        }
        if T::ENABLED {
            tracer.pass("ingress");
        }
        let done = machine::run(program, state, code.ingress, phv, packet, bytes, tracer);
        if done == Outcome::Failed {
            return IngressOutcome::only(Fate::Drop);
        }
        packet.deparsed = wire::frame_len(code, phv, packet);
        let slots = &code.paths.slots;
        let clone = take_clone(code, phv);
        let digest = std::mem::take(&mut phv[usize::from(slots.digest)]);
        let digest = digest.checked_sub(1).map(|id| DigestId(id as u32));
        let standard = &code.standard;
        let group = phv[usize::from(standard.mcast_grp)];
        let port = phv[usize::from(standard.egress_spec)];
        let port = u16::try_from(port).unwrap_or(u16::MAX);
        let fate = if phv[usize::from(slots.resubmit)] != 0 {
            Fate::Resubmit
        } else if group != 0 {
            // Copies forget what was asked for the packet that is copied.
            phv[usize::from(slots.recirculate)] = 0;
            phv[usize::from(slots.truncate)] = 0;
            Fate::Multicast {
                group: group as u16,
            }
        } else if port == self.state.drop_port {
            Fate::Drop
        } else {
            Fate::Unicast { port }
        };
        // What is made of the packet beside its way to egress may be made of any field.
        let whole = packet.trace != 0 || clone.is_some() || digest.is_some();
        let whole = whole || fate == Fate::Resubmit;
        if whole || fate != Fate::Drop {
            packet.save(&program.code, phv, whole);
        }
        IngressOutcome {
            fate,
            clone,
            digest,
        }
    }

    /// Runs the egress pipeline and, when it keeps the packet, puts the frame
    /// to send into `out`, which is emptied first. A frame that is sent as it
    /// came is not copied: the packet loses it, unless it is to be cloned.
    ///
    /// `now_ns` is the time at which the packet left its queue. The packet
    /// must come from this pipeline's ingress; one from an earlier program
    /// is dropped.
    pub fn egress(
        &mut self,
        now_ns: u64,
        metadata: &EgressMetadata,
        packet: &mut Packet,
        out: &mut Vec<u8>,
    ) -> EgressOutcome {
        if packet.trace == 0 {
            self.run_egress(now_ns, metadata, packet, out, &mut Off)
        } else {
            self.traced_egress(now_ns, metadata, packet, out)
        }
    }

    pub(crate) fn run_egress<T: Tracer>(
        &mut self,
        now_ns: u64,
        metadata: &EgressMetadata,
        packet: &mut Packet,
        out: &mut Vec<u8>,
        tracer: &mut T,
    ) -> EgressOutcome {
        const DROPPED: EgressOutcome = EgressOutcome {
            fate: EgressFate::Drop,
            clone: None,
            as_received: false,
        };
        out.clear();
        let program = &*self.program;
        if packet.program != program.id || packet.slots.is_empty() {
            return DROPPED;
        }
        let code = program.code_for::<T>();
        let standard = &code.standard;
        let now = microseconds(now_ns);
        let length = packet.deparsed as u64;
        let drop_port = u64::from(self.state.drop_port);
        let waited = now.wrapping_sub(packet.enq_timestamp);
        let phv = self.phv.as_mut_slice();
        packet.restore(&program.code, phv);
        let given = if T::ENABLED {
            Given::ALL
        } else {
            code.carry.given
        };
        let mut give = |is_read: bool, slot, value| {
            if is_read {
                code.paths.set(phv, slot, value);
            }
        };
        // As BMv2: not the drop port, so that only what egress drops is dropped.
        give(true, standard.egress_spec, drop_port + 1);
        let port = u64::from(metadata.port);
        give(given.egress_port, standard.egress_port, port);
        let rid = u64::from(metadata.rid);
        give(given.egress_rid, standard.egress_rid, rid);
        let instance_type = metadata.instance_type as u64;
        give(given.instance_type, standard.instance_type, instance_type);
        give(given.packet_length, standard.packet_length, length);
        let is_read = given.egress_global_timestamp;
        give(is_read, standard.egress_global_timestamp, now);
        let deq_qdepth = u64::from(metadata.deq_qdepth);
        give(given.deq_qdepth, standard.deq_qdepth, deq_qdepth);
        give(given.qid, code.paths.qid, u64::from(metadata.queue));
        give(given.deq_timedelta, standard.deq_timedelta, waited);
        let enq_timestamp = packet.enq_timestamp;
        give(given.enq_timestamp, standard.enq_timestamp, enq_timestamp);
        let enq_qdepth = packet.enq_qdepth;
        give(given.enq_qdepth, standard.enq_qdepth, enq_qdepth);
        let bytes = packet.len as u64;
        let state = &mut self.state;
        state.now_ns = now_ns;
        if T::ENABLED {
            tracer.pass("egress");
        }
        let grants = metadata.grants.as_ref();
        if grants.is_some() {
            code.grants.set(&code.paths, phv, grants);
        }
        let outcome = machine::run(program, state, code.egress, phv, packet, bytes, tracer);
        if grants.is_some() {
            code.grants.set(&code.paths, phv, None);
        }
        if outcome == Outcome::Failed {
            return DROPPED;
        }
        let clone = take_clone(code, phv);
        if phv[usize::from(standard.egress_spec)] == drop_port {
            if clone.is_some() {
                packet.save(&program.code, phv, true);
            }
            return EgressOutcome {
                fate: EgressFate::Drop,
                clone,
                as_received: false,
            };
        }
        if let Some(deparser) = code.deparser {
            let state = &mut self.state;
            machine::run(program, state, deparser, phv, packet, bytes, tracer);
        }
        let slots = &code.paths.slots;
        let recirculated = phv[usize::from(slots.recirculate)] != 0;
        let kept = recirculated || clone.is_some();
        let handed_over = wire::deparse(code, phv, packet, out, kept);
        if kept {
            packet.save(&program.code, phv, true);
        }
        if recirculated {
            return EgressOutcome {
                fate: EgressFate::Recirculate,
                clone,
                as_received: false,
            };
        }
        let longest = !phv[usize::from(slots.truncate)];
        let longest = usize::try_from(longest).unwrap_or(usize::MAX);
        let as_received = handed_over && out.len() <= longest;
        out.truncate(longest);
        EgressOutcome {
            fate: EgressFate::Send,
            clone,
            as_received,
        }
    }

    /// Makes `copy` the clone of a packet whose ingress has just ended with
    /// [`IngressOutcome::clone`], ready for egress: the frame as received, parsed
    /// again, with the metadata that the field list names. At most
    /// `packet_length_bytes` of it will be sent, 0 is all.
    pub fn clone_ingress(&mut self, packet: &Packet, packet_length_bytes: u32, copy: &mut Packet) {
        let program = &*self.program;
        let code = &program.code;
        let phv = self.phv.as_mut_slice();
        copy.frame.clear();
        copy.frame.extend_from_slice(packet.received());
        copy.reset(program, phv, packet.trace != 0);
        copy.port = packet.port;
        copy.passes = packet.passes;
        if packet.program != program.id {
            return;
        }
        // Parsers may look at the port.
        let port = code.standard.ingress_port;
        code.paths.set(phv, port, u64::from(packet.port));
        let bytes = copy.len as u64;
        // What the parser asserts, it has asserted of these bytes before.
        let _ = machine::run(
            program,
            &mut self.state,
            code.parser,
            phv,
            copy,
            bytes,
            &mut Off,
        );
        self.finish_clone(packet, packet_length_bytes, copy);
    }

    /// Makes `copy` the clone of a packet whose egress has just ended with
    /// [`EgressOutcome::clone`], ready for another egress: headers and payload
    /// as they are, with the metadata that the field list names. At most
    /// `packet_length_bytes` of it will be sent, 0 is all.
    pub fn clone_egress(&mut self, packet: &Packet, packet_length_bytes: u32, copy: &mut Packet) {
        copy.copy_from(packet);
        copy.passes = packet.passes.saturating_add(1);
        if packet.program == self.program.id && packet.whole {
            packet.restore(&self.program.code, &mut self.phv);
            self.finish_clone(packet, packet_length_bytes, copy);
        }
    }

    /// Resets the metadata of a clone, which is in the vector, but for the field list.
    fn finish_clone(&mut self, packet: &Packet, packet_length_bytes: u32, copy: &mut Packet) {
        let code = &self.program.code;
        let paths = &code.paths;
        let phv = self.phv.as_mut_slice();
        for (first, slots) in &paths.metadata {
            let range = usize::from(*first)..usize::from(*first) + usize::from(*slots);
            phv[range.clone()].copy_from_slice(&code.template[range]);
        }
        let first = usize::from(paths.slots.clone);
        phv[first..first + PacketSlots::COUNT].fill(0);
        if let Some(saved) = packet.all() {
            for field in fields(paths, saved[usize::from(paths.slots.clone_list)]) {
                let first = usize::from(field.slot);
                let range = first..first + usize::from(field.words);
                phv[range.clone()].copy_from_slice(&saved[range]);
                if let Some(raw) = field.raw {
                    phv[usize::from(raw)] = 0;
                }
            }
        }
        if packet_length_bytes != 0 {
            phv[usize::from(paths.slots.truncate)] = !u64::from(packet_length_bytes);
        }
        copy.deparsed = wire::frame_len(code, phv, copy);
        // The copy of one that is traced may be traced.
        copy.save(code, phv, packet.trace != 0);
    }

    /// The values of a digest of a packet whose ingress has just ended with
    /// [`IngressOutcome::digest`]; `values` is emptied first.
    pub fn digest_fields(&self, packet: &Packet, digest: DigestId, values: &mut Vec<u128>) {
        values.clear();
        if packet.program != self.program.id {
            return;
        }
        let Some(fields) = self.program.code.paths.digests.get(digest.0 as usize) else {
            return;
        };
        let Some(saved) = packet.all() else {
            return;
        };
        values.extend(fields.iter().map(|field| match *field {
            DigestField::Constant(value) => value,
            DigestField::Field { slot, wide } => {
                let at = usize::from(slot);
                let high = if wide { saved[at + 1] } else { 0 };
                u128::from(saved[at]) | u128::from(high) << 64
            }
        }));
    }
}

/// The session of the last clone that the packet asked for.
fn take_clone(code: &Code, phv: &mut [u64]) -> Option<u16> {
    let requested = std::mem::take(&mut phv[usize::from(code.paths.slots.clone)]);
    (requested != 0).then_some((requested & !CLONE_REQUESTED) as u16)
}

fn fields(paths: &PathCode, list: u64) -> &[CarriedField] {
    usize::try_from(list)
        .ok()
        .and_then(|list| paths.lists.get(list))
        .map_or(&[], Vec::as_slice)
}
