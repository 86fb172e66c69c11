// SPDX-License-Identifier: Apache-2.0
//! A program with its state: what runs packets and what the control plane changes.

use crate::op::mask;
use crate::packet::Packet;
use crate::pre::{CloneSessions, MulticastGroups};
use crate::program::Program;
use crate::state::{Log, LogSink, State};
use crate::table::{Profile, Table};
use crate::trace::Tracing;
use crate::value_set::ValueSet;
use std::sync::Arc;

/// A program and its state.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) program: Arc<Program>,
    pub(crate) state: State,
    /// The slots that packets run in, one after another: constants, fields, parameters
    /// and temporaries; see `layout`.
    pub(crate) phv: Vec<u64>,
    multicast: MulticastGroups,
    clone_sessions: CloneSessions,
    pub(crate) trace: Tracing,
}

impl Pipeline {
    /// Fresh state for a program. `seed` determines everything that the
    /// program draws at random.
    pub fn new(program: Arc<Program>, seed: u64) -> Self {
        let state = State::new(&program, seed);
        Pipeline {
            phv: program.code.template.clone(),
            program,
            state,
            multicast: MulticastGroups::default(),
            clone_sessions: CloneSessions::default(),
            trace: Tracing::default(),
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

    // --- what the traffic manager asks ---------------------------------------

    /// Notes in the packet that it is put into a queue that holds `qdepth`
    /// packets, this one excluded (`enq_timestamp`, `enq_qdepth`).
    pub fn mark_enqueued(&self, now_ns: u64, qdepth: u32, packet: &mut Packet) {
        if packet.program == self.program.id {
            let code = &self.program.code;
            let cut = |slot, value| code.paths.cut(slot, value);
            packet.enq_timestamp = cut(code.standard.enq_timestamp, microseconds(now_ns));
            packet.enq_qdepth = cut(code.standard.enq_qdepth, u64::from(qdepth));
        }
    }

    /// The metadata field named `queue_id`; 0 when the program has none.
    pub fn queue_id(&self, packet: &Packet) -> u32 {
        if self.is_own(packet) {
            packet.queue_id
        } else {
            0
        }
    }

    /// The metadata field named `sub_queue`; 0 when the program has none.
    pub fn sub_queue(&self, packet: &Packet) -> u32 {
        if self.is_own(packet) {
            packet.sub_queue
        } else {
            0
        }
    }

    /// `standard_metadata.priority`.
    pub fn priority(&self, packet: &Packet) -> u8 {
        if self.is_own(packet) {
            packet.priority
        } else {
            0
        }
    }

    /// Bytes that a packet between ingress and egress has on the wire.
    pub fn frame_len(&self, packet: &Packet) -> usize {
        if packet.program == self.program.id {
            packet.deparsed
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

    /// The clone sessions.
    pub fn clone_sessions(&self) -> &CloneSessions {
        &self.clone_sessions
    }

    /// The clone sessions, to change them.
    pub fn clone_sessions_mut(&mut self) -> &mut CloneSessions {
        &mut self.clone_sessions
    }

    /// The memory that what the control plane has written takes, bytes: entries of tables, members
    /// and groups, members of value sets, multicast groups and clone sessions. It is an estimate
    /// from above. Arrays are not part of it, because a program has all of theirs from the start.
    pub fn kept_bytes(&self) -> usize {
        let state = &self.state;
        let tables = state.tables.iter().map(Table::kept_bytes).sum::<usize>();
        let profiles = state
            .profiles
            .iter()
            .map(Profile::kept_bytes)
            .sum::<usize>();
        let value_sets = state
            .value_sets
            .iter()
            .map(ValueSet::kept_bytes)
            .sum::<usize>();
        let groups = self.multicast.kept_bytes() + self.clone_sessions.kept_bytes();
        tables + profiles + value_sets + groups
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

    /// Whether a packet comes from this program's ingress.
    fn is_own(&self, packet: &Packet) -> bool {
        packet.program == self.program.id
    }
}

/// v1model's clock: microseconds in 48 bits.
pub(crate) fn microseconds(now_ns: u64) -> u64 {
    (now_ns / 1000) & mask(48)
}
