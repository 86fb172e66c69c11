// SPDX-License-Identifier: Apache-2.0
//! A program with its state: what runs packets and what the control plane changes.

use crate::machine::{self, Outcome};
use crate::op::{Slot, mask};
use crate::packet::Packet;
use crate::pre::MulticastGroups;
use crate::program::Program;
use crate::state::{Log, LogSink, State};
use crate::trace::Off;
use crate::wire;
use std::sync::Arc;

/// `instance_type` of a packet as received.
const INSTANCE_NORMAL: u64 = 0;
/// `instance_type` of a multicast copy.
const INSTANCE_REPLICATION: u64 = 5;

/// The fate of a packet at the end of ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngressVerdict {
    /// `egress_spec` was the drop port, or an assertion failed.
    Drop,
    /// To one port, the CPU port included.
    Unicast {
        /// The egress port.
        port: u16,
    },
    /// To the replicas of a group, of which there may be none; see
    /// [`Pipeline::multicast`].
    Multicast {
        /// `mcast_grp`, not 0.
        group: u16,
    },
}

/// The fate of a packet at the end of egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressVerdict {
    /// The frame is in the output buffer.
    Send,
    /// Dropped; the output buffer is empty.
    Drop,
}

/// What the traffic manager knows about a packet that leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EgressMetadata {
    /// `egress_port`.
    pub port: u16,
    /// `egress_rid`, the replica's instance; 0 for unicast.
    pub rid: u16,
    /// The packet is a multicast copy (`instance_type` 5 instead of 0).
    pub replicated: bool,
    /// `deq_qdepth`: packets in the queue after this one was taken out.
    pub deq_qdepth: u32,
}

/// A program and its state.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) program: Arc<Program>,
    pub(crate) state: State,
    multicast: MulticastGroups,
}

impl Pipeline {
    /// Fresh state for a program. `seed` determines everything that the
    /// program draws at random.
    pub fn new(program: Arc<Program>, seed: u64) -> Self {
        let state = State::new(&program, seed);
        Pipeline {
            program,
            state,
            multicast: MulticastGroups::default(),
        }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The port that stands for "drop" in `egress_spec`; 511 unless set.
    pub fn set_drop_port(&mut self, port: u16) {
        self.state.drop_port = port;
    }

    /// Where `log_msg` and failed assertions go; without one they are not formatted.
    pub fn set_log(&mut self, log: Option<LogSink>) {
        self.state.log = Log(log);
    }

    // --- packets -----------------------------------------------------------

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
    ) -> IngressVerdict {
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
    ) -> IngressVerdict {
        let program = &*self.program;
        packet.reset(program);
        let standard = &program.code.standard;
        let bytes = packet.len as u64;
        let phv = packet.phv.as_mut_slice();
        phv[usize::from(standard.ingress_port)] = u64::from(port);
        phv[usize::from(standard.packet_length)] = bytes & mask(32);
        phv[usize::from(standard.instance_type)] = INSTANCE_NORMAL;
        phv[usize::from(standard.ingress_global_timestamp)] = microseconds(now_ns);
        let code = &program.code;
        let state = &mut self.state;
        let parsed = machine::run(program, state, code.parser, packet, bytes, &mut Off);
        if parsed == Outcome::Failed
            || machine::run(program, state, code.ingress, packet, bytes, &mut Off)
                == Outcome::Failed
        {
            return IngressVerdict::Drop;
        }
        let group = packet.phv[usize::from(standard.mcast_grp)];
        let port = packet.phv[usize::from(standard.egress_spec)] as u16;
        if group != 0 {
            IngressVerdict::Multicast {
                group: group as u16,
            }
        } else if port == self.state.drop_port {
            IngressVerdict::Drop
        } else {
            IngressVerdict::Unicast { port }
        }
    }

    /// Runs the egress pipeline and, when it keeps the packet, puts the frame
    /// to send into `out`, which is emptied first.
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
    ) -> EgressVerdict {
        out.clear();
        let program = &*self.program;
        if packet.program != program.id {
            return EgressVerdict::Drop;
        }
        let code = &program.code;
        let standard = &code.standard;
        let now = microseconds(now_ns);
        let length = wire::frame_len(code, packet) as u64;
        let phv = packet.phv.as_mut_slice();
        let mut set = |slot: Slot, value: u64| phv[usize::from(slot)] = value;
        // Any value but the drop port: only what egress itself drops is dropped.
        set(standard.egress_spec, u64::from(self.state.drop_port == 0));
        set(standard.egress_port, u64::from(metadata.port));
        set(standard.egress_rid, u64::from(metadata.rid));
        set(
            standard.instance_type,
            if metadata.replicated {
                INSTANCE_REPLICATION
            } else {
                INSTANCE_NORMAL
            },
        );
        set(standard.packet_length, length & mask(32));
        set(standard.egress_global_timestamp, now);
        set(
            standard.deq_qdepth,
            u64::from(metadata.deq_qdepth) & mask(19),
        );
        let enqueued = phv[usize::from(standard.enq_timestamp)];
        phv[usize::from(standard.deq_timedelta)] = now.wrapping_sub(enqueued) & mask(32);
        let bytes = packet.len as u64;
        let state = &mut self.state;
        if machine::run(program, state, code.egress, packet, bytes, &mut Off) == Outcome::Failed
            || packet.phv[usize::from(standard.egress_spec)] == u64::from(self.state.drop_port)
        {
            return EgressVerdict::Drop;
        }
        wire::deparse(code, packet, out);
        EgressVerdict::Send
    }

    /// Notes in the packet that it is put into a queue that holds `qdepth`
    /// packets, this one excluded (`enq_timestamp`, `enq_qdepth`).
    pub fn mark_enqueued(&self, now_ns: u64, qdepth: u32, packet: &mut Packet) {
        if packet.program == self.program.id {
            let standard = &self.program.code.standard;
            packet.phv[usize::from(standard.enq_timestamp)] = microseconds(now_ns) & mask(32);
            packet.phv[usize::from(standard.enq_qdepth)] = u64::from(qdepth) & mask(19);
        }
    }

    /// The metadata field named `queue_id`; 0 when the program has none.
    pub fn queue_id(&self, packet: &Packet) -> u32 {
        match self.program.code.queue_id {
            Some(slot) => self.read(packet, slot) as u32,
            None => 0,
        }
    }

    /// `standard_metadata.priority`.
    pub fn priority(&self, packet: &Packet) -> u8 {
        self.read(packet, self.program.code.standard.priority) as u8
    }

    /// Bytes of the frame if it were deparsed now.
    pub fn frame_len(&self, packet: &Packet) -> usize {
        if packet.program == self.program.id {
            wire::frame_len(&self.program.code, packet)
        } else {
            packet.len
        }
    }

    /// The multicast groups.
    pub fn multicast(&self) -> &MulticastGroups {
        &self.multicast
    }

    /// The multicast groups, to change them.
    pub fn multicast_mut(&mut self) -> &mut MulticastGroups {
        &mut self.multicast
    }

    // --- faults ------------------------------------------------------------

    /// Register and counter accesses of the program past the end of an array;
    /// each had no effect.
    pub fn out_of_range_accesses(&self) -> u64 {
        self.state.out_of_range
    }

    /// Failed `assert` and `assume` statements; each dropped its packet.
    pub fn failed_assertions(&self) -> u64 {
        self.state.assertions
    }

    fn read(&self, packet: &Packet, slot: Slot) -> u64 {
        if packet.program == self.program.id {
            packet.phv[usize::from(slot)]
        } else {
            0
        }
    }
}

/// v1model's clock: microseconds in 48 bits.
fn microseconds(now_ns: u64) -> u64 {
    (now_ns / 1000) & mask(48)
}
