// SPDX-License-Identifier: Apache-2.0
//! A program with its state: what runs packets and what the control plane changes.

use crate::error::ControlError;
use crate::machine::{self, Outcome};
use crate::op::{Slot, mask, mask_wide};
use crate::packet::Packet;
use crate::pre::MulticastGroups;
use crate::program::Program;
use crate::schema::*;
use crate::state::{Log, LogSink, State};
use crate::table::Table;
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
    program: Arc<Program>,
    state: State,
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
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.insert(schema, &self.program.actions, key, action)
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
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.modify(schema, &self.program.actions, key, action)
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), ControlError> {
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.delete(schema, key)
    }

    /// One entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn entry(&self, table: TableId, key: &EntryKey) -> Result<TableEntry, ControlError> {
        let (table, schema) = self.table(table)?;
        table.entry(schema, key)
    }

    /// All entries in the order of insertion, const entries included.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries(&self, table: TableId) -> Result<Vec<TableEntry>, ControlError> {
        let (table, schema) = self.table(table)?;
        Ok(table.entries(schema))
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
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.set_default(schema, &self.program.actions, action)
    }

    /// The default entry, and whether it is the one given in P4.
    ///
    /// # Errors
    /// There is no such table.
    pub fn default_entry(&self, table: TableId) -> Result<(ActionCall, bool), ControlError> {
        let (table, _) = self.table(table)?;
        Ok(table.default_entry())
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
        let (table, schema) = self.table(table)?;
        table.counter(schema, key)
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
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        *table.counter_mut(schema, key)? = data;
        Ok(())
    }

    // --- counters and registers ---------------------------------------------

    /// One cell of an indirect counter.
    ///
    /// # Errors
    /// No such counter or cell.
    pub fn counter(&self, counter: CounterId, index: usize) -> Result<CounterData, ControlError> {
        let at = counter.0 as usize;
        let cells = self
            .state
            .counters
            .get(at)
            .ok_or_else(|| unknown("counter", counter.0))?;
        let name = &self.program.counters[at].name;
        cells
            .get(index)
            .copied()
            .ok_or_else(|| past_the_end("counter", name, index, cells.len()))
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
        let at = counter.0 as usize;
        let cells = self
            .state
            .counters
            .get_mut(at)
            .ok_or_else(|| unknown("counter", counter.0))?;
        let size = cells.len();
        match index {
            None => cells.fill(data),
            Some(index) => match cells.get_mut(index) {
                Some(cell) => *cell = data,
                None => {
                    let name = &self.program.counters[at].name;
                    return Err(past_the_end("counter", name, index, size));
                }
            },
        }
        Ok(())
    }

    /// One cell of a register.
    ///
    /// # Errors
    /// No such register or cell.
    pub fn register(&self, register: RegisterId, index: usize) -> Result<u128, ControlError> {
        let at = register.0 as usize;
        let cells = self
            .state
            .registers
            .get(at)
            .ok_or_else(|| unknown("register", register.0))?;
        let narrow = cells.narrow.get(index).map(|cell| u128::from(*cell));
        narrow
            .or_else(|| cells.wide.get(index).copied())
            .ok_or_else(|| {
                let schema = &self.program.registers[at];
                past_the_end("register", &schema.name, index, schema.size)
            })
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
        let at = register.0 as usize;
        let cells = self
            .state
            .registers
            .get_mut(at)
            .ok_or_else(|| unknown("register", register.0))?;
        let schema = &self.program.registers[at];
        if value & !mask_wide(schema.width) != 0 {
            let what = format!("register {}", schema.name);
            return Err(ControlError::ValueTooWide {
                what,
                width: schema.width,
            });
        }
        match index {
            None => {
                cells.narrow.fill(value as u64);
                cells.wide.fill(value);
            }
            Some(index) if index >= schema.size => {
                return Err(past_the_end("register", &schema.name, index, schema.size));
            }
            Some(index) if schema.width > 64 => cells.wide[index] = value,
            Some(index) => cells.narrow[index] = value as u64,
        }
        Ok(())
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

    fn table(&self, id: TableId) -> Result<(&Table, &TableSchema), ControlError> {
        let at = id.0 as usize;
        match (self.state.tables.get(at), self.program.tables.get(at)) {
            (Some(table), Some(schema)) => Ok((table, schema)),
            _ => Err(unknown("table", id.0)),
        }
    }

    fn table_mut<'s>(
        state: &'s mut State,
        program: &'s Program,
        id: TableId,
    ) -> Result<(&'s mut Table, &'s TableSchema), ControlError> {
        let at = id.0 as usize;
        match (state.tables.get_mut(at), program.tables.get(at)) {
            (Some(table), Some(schema)) => Ok((table, schema)),
            _ => Err(unknown("table", id.0)),
        }
    }
}

/// v1model's clock: microseconds in 48 bits.
fn microseconds(now_ns: u64) -> u64 {
    (now_ns / 1000) & mask(48)
}

fn unknown(kind: &str, id: u32) -> ControlError {
    ControlError::UnknownObject {
        what: format!("{kind} {id}"),
    }
}

fn past_the_end(kind: &str, name: &str, index: usize, size: usize) -> ControlError {
    ControlError::IndexOutOfRange {
        what: format!("{kind} {name}"),
        index,
        size,
    }
}
