// SPDX-License-Identifier: Apache-2.0
//! A program with its state: what runs packets and what the control plane changes.

use crate::error::ControlError;
use crate::packet::Packet;
use crate::pre::MulticastGroups;
use crate::program::Program;
use crate::schema::*;
use std::sync::Arc;

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
    program: Arc<Program>,
    multicast: MulticastGroups,
}

impl Pipeline {
    /// Fresh state for a program. `seed` determines everything that the
    /// program draws at random.
    pub fn new(program: Arc<Program>, seed: u64) -> Self {
        let _ = seed;
        Pipeline {
            program,
            multicast: MulticastGroups::default(),
        }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The port that stands for "drop" in `egress_spec`; 511 unless set.
    pub fn set_drop_port(&mut self, port: u16) {
        let _ = port;
        todo!()
    }

    /// Where `log_msg` and failed assertions go; without one they are not formatted.
    pub fn set_log(&mut self, log: Option<Box<dyn FnMut(&str) + Send>>) {
        let _ = log;
        todo!()
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
        let _ = (now_ns, port, packet);
        todo!()
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
        let _ = (now_ns, metadata, packet, out);
        todo!()
    }

    /// Notes in the packet that it is put into a queue that holds `qdepth`
    /// packets, this one excluded (`enq_timestamp`, `enq_qdepth`).
    pub fn mark_enqueued(&self, now_ns: u64, qdepth: u32, packet: &mut Packet) {
        let _ = (now_ns, qdepth, packet);
        todo!()
    }

    /// The metadata field named `queue_id`; 0 when the program has none.
    pub fn queue_id(&self, packet: &Packet) -> u32 {
        let _ = packet;
        todo!()
    }

    /// `standard_metadata.priority`.
    pub fn priority(&self, packet: &Packet) -> u8 {
        let _ = packet;
        todo!()
    }

    /// Bytes of the frame if it were deparsed now.
    pub fn frame_len(&self, packet: &Packet) -> usize {
        let _ = packet;
        todo!()
    }

    /// The multicast groups.
    pub fn multicast(&self) -> &MulticastGroups {
        &self.multicast
    }

    /// The multicast groups, to change them.
    pub fn multicast_mut(&mut self) -> &mut MulticastGroups {
        &mut self.multicast
    }

    // --- tables ------------------------------------------------------------

    /// Adds an entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn insert(
        &mut self,
        table: TableId,
        key: &EntryKey,
        action: &ActionCall,
    ) -> Result<(), ControlError> {
        let _ = (table, key, action);
        todo!()
    }

    /// Replaces the action of an entry; its direct counter keeps counting.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn modify(
        &mut self,
        table: TableId,
        key: &EntryKey,
        action: &ActionCall,
    ) -> Result<(), ControlError> {
        let _ = (table, key, action);
        todo!()
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), ControlError> {
        let _ = (table, key);
        todo!()
    }

    /// One entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn entry(&self, table: TableId, key: &EntryKey) -> Result<TableEntry, ControlError> {
        let _ = (table, key);
        todo!()
    }

    /// All entries in the order of insertion, const entries included.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries(&self, table: TableId) -> Result<Vec<TableEntry>, ControlError> {
        let _ = table;
        todo!()
    }

    /// Sets the default entry; `None` goes back to the one given in P4.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn set_default(
        &mut self,
        table: TableId,
        action: Option<&ActionCall>,
    ) -> Result<(), ControlError> {
        let _ = (table, action);
        todo!()
    }

    /// The default entry, and whether it is the one given in P4.
    ///
    /// # Errors
    /// There is no such table.
    pub fn default_entry(&self, table: TableId) -> Result<(ActionCall, bool), ControlError> {
        let _ = table;
        todo!()
    }

    /// The direct counter of an entry, or of the default entry (`None`).
    ///
    /// # Errors
    /// The table has no direct counter, or no such entry.
    pub fn direct_counter(
        &self,
        table: TableId,
        key: Option<&EntryKey>,
    ) -> Result<CounterData, ControlError> {
        let _ = (table, key);
        todo!()
    }

    /// Writes the direct counter of an entry, or of the default entry (`None`).
    ///
    /// # Errors
    /// The table has no direct counter, or no such entry.
    pub fn set_direct_counter(
        &mut self,
        table: TableId,
        key: Option<&EntryKey>,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let _ = (table, key, data);
        todo!()
    }

    // --- counters and registers ---------------------------------------------

    /// One cell of an indirect counter.
    ///
    /// # Errors
    /// No such counter or cell.
    pub fn counter(&self, counter: CounterId, index: usize) -> Result<CounterData, ControlError> {
        let _ = (counter, index);
        todo!()
    }

    /// Writes one cell of an indirect counter, or all (`None`).
    ///
    /// # Errors
    /// No such counter or cell.
    pub fn set_counter(
        &mut self,
        counter: CounterId,
        index: Option<usize>,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let _ = (counter, index, data);
        todo!()
    }

    /// One cell of a register.
    ///
    /// # Errors
    /// No such register or cell.
    pub fn register(&self, register: RegisterId, index: usize) -> Result<u128, ControlError> {
        let _ = (register, index);
        todo!()
    }

    /// Writes one cell of a register, or all (`None`).
    ///
    /// # Errors
    /// No such register or cell, or the value is too wide.
    pub fn set_register(
        &mut self,
        register: RegisterId,
        index: Option<usize>,
        value: u128,
    ) -> Result<(), ControlError> {
        let _ = (register, index, value);
        todo!()
    }
}
