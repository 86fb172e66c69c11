// SPDX-License-Identifier: Apache-2.0
//! Registers, counters, meters, value sets and digests.

use super::{KeySchema, ParamSchema};

/// An array of registers.
#[derive(Clone, Debug)]
pub struct RegisterSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Cells.
    pub size: usize,
    /// Bits of a cell, at most 128.
    pub width: u16,
}

/// An array of indirect counters. (Direct counters belong to their tables.)
#[derive(Clone, Debug)]
pub struct CounterSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Cells.
    pub size: usize,
}

/// Packets and bytes. Bytes are those of the frame as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterData {
    /// Packets counted.
    pub packets: u64,
    /// Bytes of these packets, without the FCS.
    pub bytes: u64,
}

/// What a meter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeterUnit {
    /// Each packet is one.
    Packets,
    /// The bytes of the frame as received, without the FCS.
    Bytes,
}

/// An array of indirect meters. (Direct meters belong to their tables.)
#[derive(Clone, Debug)]
pub struct MeterSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Cells.
    pub size: usize,
    /// What it counts.
    pub unit: MeterUnit,
}

/// The two rates of a three-colour marker (RFC 2698). A cell without a
/// configuration marks every packet green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed information rate, units per second.
    pub cir: u64,
    /// Committed burst, units.
    pub cburst: u64,
    /// Peak information rate, units per second.
    pub pir: u64,
    /// Peak burst, units.
    pub pburst: u64,
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSetSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Most members that it takes.
    pub size: usize,
    /// The fields of a member; BMv2's JSON has their widths only, so all are
    /// exact here. See [`Pipeline::set_value_set`](crate::Pipeline::set_value_set).
    pub fields: Vec<KeySchema>,
}

/// A digest: a record that the program sends to the control plane.
#[derive(Clone, Debug)]
pub struct DigestSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// The record's fields, in P4 order.
    pub fields: Vec<ParamSchema>,
}
