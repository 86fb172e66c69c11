// SPDX-License-Identifier: Apache-2.0
//! One cell of a register with its value, written byte for byte as prost does.

use std::ops::Deref;

use super::fields::{
    DATA_BITSTRING, ENTITY_REGISTER_ENTRY, INDEX, REGISTER_DATA, REGISTER_ID, REGISTER_INDEX,
    UPDATE_ENTITY, UPDATE_TYPE, varint_len,
};
use crate::bytestring;
use crate::proto::p4::v1::update::Type;

/// Room for the longest: 16 bytes of value, 10 of index, 5 of id, and up to 3
/// in front of each of the seven fields. Its length fits into one byte.
const ROOM: usize = 64;

/// A cell's message, written from its end: a length is known when what it stands
/// in front of is there.
pub struct Written {
    bytes: [u8; ROOM],
    at: usize,
}

impl Deref for Written {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.at..]
    }
}

/// The `Entity` of a register's cell.
#[inline]
pub fn entity(register_id: u32, index: i64, value: u128) -> Written {
    let mut out = Written {
        bytes: [0; ROOM],
        at: ROOM,
    };
    out.put(bytestring::shortest(&value.to_be_bytes()));
    out.delimit(DATA_BITSTRING, ROOM);
    out.delimit(REGISTER_DATA, ROOM);
    let end_of_index = out.at;
    // 0 is left out.
    if index != 0 {
        out.varint(index as u64);
        out.put(&[INDEX]);
    }
    out.delimit(REGISTER_INDEX, end_of_index);
    out.varint(u64::from(register_id));
    out.put(&[REGISTER_ID]);
    out.delimit(ENTITY_REGISTER_ENTRY, ROOM);
    out
}

/// The `Update` that modifies a register's cell, with its length in front.
#[inline]
pub fn update(register_id: u32, index: i64, value: u128) -> Written {
    let mut out = entity(register_id, index, value);
    out.delimit(UPDATE_ENTITY, ROOM);
    out.put(&[UPDATE_TYPE, Type::Modify as u8]);
    out.put(&[(ROOM - out.at) as u8]);
    out
}

impl Written {
    #[inline]
    fn put(&mut self, part: &[u8]) {
        let start = self.at - part.len();
        self.bytes[start..self.at].copy_from_slice(part);
        self.at = start;
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        let last = varint_len(value) - 1;
        for n in (0..=last).rev() {
            let more = if n < last { 0x80 } else { 0 };
            self.put(&[(value >> (7 * n)) as u8 & 0x7f | more]);
        }
    }

    /// Puts a key and a length in front of what ends at `end`.
    #[inline]
    fn delimit(&mut self, key: u8, end: usize) {
        self.put(&[key, (end - self.at) as u8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
