// SPDX-License-Identifier: Apache-2.0
//! One cell of a register with its value, written byte for byte as prost does.

use std::ops::Deref;

use super::fields::{
    DATA_BITSTRING, ENTITY_REGISTER_ENTRY, INDEX, REGISTER_DATA, REGISTER_ID, REGISTER_INDEX,
    UPDATE_ENTITY, UPDATE_TYPE,
};
use crate::proto::p4::v1::update::Type;

/// Room for the longest message: 16 bytes of value, 10 of index, 5 of id, up to 3 in front of each
/// of the seven fields, and some for a copy past the end. The length of each part fits into one
/// byte.
const ROOM: usize = 64;

/// A cell's message.
pub struct Written {
    bytes: [u8; ROOM],
    len: usize,
}

impl Deref for Written {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The `Entity` of a register's cell.
#[inline]
pub fn entity(register_id: u32, index: i64, value: u128) -> Written {
    let parts = Parts::new(register_id, index, value);
    let mut out = Written::new();
    parts.put_entity(&mut out);
    out
}

/// The `Update` that modifies a register's cell, with its length in front.
#[inline]
pub fn update(register_id: u32, index: i64, value: u128) -> Written {
    let parts = Parts::new(register_id, index, value);
    let entity = 2 + parts.entry;
    let mut out = Written::new();
    out.put([
        (4 + entity) as u8,
        UPDATE_TYPE,
        Type::Modify as u8,
        UPDATE_ENTITY,
        entity as u8,
    ]);
    parts.put_entity(&mut out);
    out
}

/// The parts whose lengths depend on their values. They are encoded first, because each length
/// stands in front of its part.
struct Parts {
    id: ([u8; 16], usize),
    index: ([u8; 16], usize),
    /// The value, big-endian, with its significant bytes in front.
    value: ([u8; 16], usize),
    /// Bytes of the `RegisterEntry`.
    entry: usize,
}

impl Parts {
    #[inline]
    fn new(register_id: u32, index: i64, value: u128) -> Self {
        let id = varint(u64::from(register_id));
        let mut place = varint(index as u64);
        if index == 0 {
            // An index of 0 is left out with its key.
            place.1 = 0;
        }
        let zeros = (value.leading_zeros() / 8).min(15);
        let bytes = (value << (8 * zeros)).to_be_bytes();
        let value = (bytes, 16 - zeros as usize);
        let index_len = place.1 + usize::from(place.1 > 0);
        Parts {
            entry: 1 + id.1 + 2 + index_len + 4 + value.1,
            id,
            index: place,
            value,
        }
    }

    #[inline]
    fn put_entity(&self, out: &mut Written) {
        out.put([ENTITY_REGISTER_ENTRY, self.entry as u8, REGISTER_ID]);
        out.put_part(self.id);
        if self.index.1 > 0 {
            out.put([REGISTER_INDEX, self.index.1 as u8 + 1, INDEX]);
            out.put_part(self.index);
        } else {
            out.put([REGISTER_INDEX, 0]);
        }
        let length = self.value.1 as u8;
        out.put([REGISTER_DATA, length + 2, DATA_BITSTRING, length]);
        out.put_part(self.value);
    }
}

impl Written {
    #[inline]
    fn new() -> Self {
        Written {
            bytes: [0; ROOM],
            len: 0,
        }
    }

    #[inline]
    fn put<const N: usize>(&mut self, part: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&part);
        self.len += N;
    }

    /// Copies all sixteen bytes, which is one instruction, and keeps `len`.
    #[inline]
    fn put_part(&mut self, (bytes, len): ([u8; 16], usize)) {
        self.put(bytes);
        self.len -= 16 - len;
    }
}

/// A varint and its length.
#[inline]
fn varint(value: u64) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    // Seven bits a byte.
    let last = (63 - (value | 1).leading_zeros() as usize) / 7;
    for (n, byte) in bytes.iter_mut().enumerate().take(last) {
        *byte = (value >> (7 * n)) as u8 | 0x80;
    }
    bytes[last] = (value >> (7 * last)) as u8;
    (bytes, last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytestring;
    use crate::proto::p4::v1 as p4;
    use p4::entity::Entity;
    use proptest::prelude::*;
    use prost::Message;

    fn agrees(register_id: u32, index: i64, value: u128) {
        let data = p4::p4_data::Data::Bitstring(bytestring::encode(value));
        let theirs = p4::Entity {
            entity: Some(Entity::RegisterEntry(p4::RegisterEntry {
                register_id,
                index: Some(p4::Index { index }),
                data: Some(p4::P4Data { data: Some(data) }),
            })),
        };
        let ours = entity(register_id, index, value);
        assert_eq!(*ours, theirs.encode_to_vec());
        let theirs = p4::Update {
            r#type: Type::Modify as i32,
            entity: Some(theirs),
        };
        let ours = update(register_id, index, value);
        assert_eq!(*ours, theirs.encode_length_delimited_to_vec());
    }

    proptest! {
        #[test]
        fn a_cell_is_written_as_prost_writes_it(
            register_id in 1u32..,
            (index, index_shift) in (any::<i64>(), 0u32..64),
            (value, value_shift) in (any::<u128>(), 0u32..128),
        ) {
            agrees(register_id, index >> index_shift, value >> value_shift);
        }
    }

    #[test]
    fn there_is_room_for_the_longest() {
        agrees(u32::MAX, -1, u128::MAX);
        agrees(1, 0, 0);
    }
}
