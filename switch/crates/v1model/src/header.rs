// SPDX-License-Identifier: Apache-2.0
//! A header or metadata instance, and the slots of its fields.

use crate::op::Slot;

/// A field of a header instance.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub slot: Slot,
    /// Bits; 0 for a varbit field, whose slot holds `bit offset << 32 | bits`.
    pub width: u16,
    pub signed: bool,
    pub var: bool,
}

/// A header or metadata instance.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub name: String,
    pub header_type: String,
    pub metadata: bool,
    /// Slot of `$valid$`.
    pub valid: Slot,
    /// Slot that holds 1 + the byte offset in the received frame while the
    /// header is as received, else 0.
    pub raw: Slot,
    pub fields: Vec<Field>,
    /// First slot of the fields: behind `raw`, or elsewhere.
    pub first: Slot,
    /// Slots of the instance, `valid` and `raw` included.
    pub slots: u16,
    /// Bits without the varbit field.
    pub bits: u32,
    /// Most bytes with the varbit field; 0 when it has none.
    pub max_bytes: u32,
    /// Validity of the other members of the union that the header is in.
    pub rivals: Vec<Slot>,
}

impl Header {
    /// Slots of the fields.
    pub fn field_slots(&self) -> u16 {
        self.slots - 2
    }

    /// The pieces that it has: `valid` and `raw`, and the fields.
    pub fn pieces(&self) -> [(Slot, u16); 2] {
        [(self.valid, 2), (self.first, self.field_slots())]
    }

    /// The slot of another header of the type that is what `slot` is in this one.
    pub fn same_in(&self, slot: Slot, other: &Header) -> Slot {
        if (self.valid..=self.raw).contains(&slot) {
            slot - self.valid + other.valid
        } else {
            slot - self.first + other.first
        }
    }

    /// The varbit field.
    pub fn var(&self) -> Option<&Field> {
        self.fields.iter().find(|f| f.var)
    }
}
