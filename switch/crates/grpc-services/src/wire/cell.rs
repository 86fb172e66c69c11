// SPDX-License-Identifier: Apache-2.0
//! One cell of a register with its value, as every protobuf library writes it.

use super::fields::{
    self, DATA_BITSTRING, ENTITY_REGISTER_ENTRY, INDEX, REGISTER_DATA, REGISTER_ID, REGISTER_INDEX,
    UPDATE_ENTITY, UPDATE_TYPE, delimited, varint,
};
use crate::proto::p4::v1::update::Type;

/// `RegisterEntry` with an index and a bitstring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The id of the register in P4Info.
    pub register_id: u32,
    /// The index as it is on the wire, so it may be negative.
    pub index: i64,
    /// The value, big-endian.
    pub bitstring: &'a [u8],
}

/// Takes one byte off the front if it is this one.
#[inline]
fn expect(bytes: &mut &[u8], byte: u8) -> Option<()> {
    *bytes = bytes.strip_prefix(&[byte])?;
    Some(())
}

/// The contents of a field with a length, if nothing follows it.
#[inline]
fn only(mut bytes: &[u8], key: u8) -> Option<&[u8]> {
    expect(&mut bytes, key)?;
    let contents = delimited(&mut bytes)?;
    bytes.is_empty().then_some(contents)
}

impl<'a> Cell<'a> {
    /// Reads an `Update` that modifies a cell; `None` when it is anything else,
    /// or has its fields in another order than their numbers'.
    #[inline]
    pub fn of_update(mut update: &'a [u8]) -> Option<Self> {
        expect(&mut update, UPDATE_TYPE)?;
        expect(&mut update, Type::Modify as u8)?;
        Cell::of_entity(only(update, UPDATE_ENTITY)?)
    }

    /// Reads an `Entity`; `None` as for [`Self::of_update`].
    #[inline]
    pub fn of_entity(entity: &'a [u8]) -> Option<Self> {
        let mut entry = only(entity, ENTITY_REGISTER_ENTRY)?;
        let Asked { register_id, index } = Asked::front(&mut entry)?;
        Some(Cell {
            register_id,
            index,
            bitstring: only(only(entry, REGISTER_DATA)?, DATA_BITSTRING)?,
        })
    }
}

/// A `RegisterEntry` with an index and nothing else, which is a cell that is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// As P4Info has it.
    pub register_id: u32,
    /// As on the wire, so it may be negative.
    pub index: i64,
}

impl Asked {
    /// Reads an `Entity`; `None` as for [`Cell::of_update`].
    #[inline]
    pub fn of_entity(entity: &[u8]) -> Option<Self> {
        let mut entry = only(entity, ENTITY_REGISTER_ENTRY)?;
        let asked = Self::front(&mut entry)?;
        // 0 is any register.
        (entry.is_empty() && asked.register_id != 0).then_some(asked)
    }

    /// Takes the id and the index off the front of a `RegisterEntry`.
    #[inline]
    fn front(entry: &mut &[u8]) -> Option<Self> {
        expect(entry, REGISTER_ID)?;
        let register_id = u32::try_from(varint(entry)?).ok()?;
        expect(entry, REGISTER_INDEX)?;
        let mut place = delimited(entry)?;
        let mut index = 0;
        // 0 is left out.
        if !place.is_empty() {
            expect(&mut place, INDEX)?;
            index = varint(&mut place)? as i64;
            if !place.is_empty() {
                return None;
            }
        }
        Some(Asked { register_id, index })
    }
}

/// The entities of a `ReadResponse` that are cells; `None` when one is not, or
/// the message is malformed.
pub fn cells(mut response: &[u8]) -> impl Iterator<Item = Option<Cell<'_>>> {
    std::iter::from_fn(move || {
        if response.is_empty() {
            return None;
        }
        let Some(field) = fields::field(&mut response) else {
            response = &[];
            return Some(None);
        };
        Some(field.contents.and_then(Cell::of_entity))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::p4::v1 as p4;
    use crate::wire::{Messages, written};
    use p4::entity::Entity;
    use prop::collection::vec;
    use prop::option;
    use proptest::prelude::*;
    use prost::Message;

    fn update(kind: Type, register_id: u32, index: Option<i64>, bitstring: &[u8]) -> p4::Update {
        let data = p4::p4_data::Data::Bitstring(bitstring.to_vec());
        let entry = p4::RegisterEntry {
            register_id,
            index: index.map(|index| p4::Index { index }),
            data: Some(p4::P4Data { data: Some(data) }),
        };
        p4::Update {
            r#type: kind as i32,
            entity: Some(p4::Entity {
                entity: Some(Entity::RegisterEntry(entry)),
            }),
        }
    }

    proptest! {
        #[test]
        fn a_cell_that_prost_wrote_is_read(
            register_id in 1u32.., index: i64, bitstring in vec(any::<u8>(), 0..200),
        ) {
            let bytes = update(Type::Modify, register_id, Some(index), &bitstring).encode_to_vec();
            let cell = Cell { register_id, index, bitstring: &bitstring };
            prop_assert_eq!(Cell::of_update(&bytes), Some(cell));
        }

        /// What is read as a cell means the same to prost.
        #[test]
        fn nothing_else_is_taken_for_a_cell(
            register_id in 0u32..300,
            index in option::of(-2i64..300),
            bitstring in vec(any::<u8>(), 0..4),
            kind in 0i32..4,
            change in option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let kind = Type::try_from(kind).unwrap();
            let mut bytes = update(kind, register_id, index, &bitstring).encode_to_vec();
            if let Some((at, byte)) = change && !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(cell) = Cell::of_update(&bytes) {
                let Cell { register_id, index, bitstring } = cell;
                let same = update(Type::Modify, register_id, Some(index), bitstring);
                prop_assert_eq!(p4::Update::decode(&bytes[..]).unwrap(), same);
            }
        }
    }

    proptest! {
        /// What is asked for means the same to prost, and what prost asks for is understood.
        #[test]
        fn a_cell_that_is_asked_for_is_what_prost_asks_for(
            register_id in 0u32..,
            index in option::of(any::<i64>()),
            data in option::of(vec(any::<u8>(), 0..3)),
            change in option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let entity = |register_id, index: Option<i64>, data: Option<Vec<u8>>| p4::Entity {
                entity: Some(Entity::RegisterEntry(p4::RegisterEntry {
                    register_id,
                    index: index.map(|index| p4::Index { index }),
                    data: data.map(|bytes| p4::P4Data {
                        data: Some(p4::p4_data::Data::Bitstring(bytes)),
                    }),
                })),
            };
            let mut bytes = entity(register_id, index, data.clone()).encode_to_vec();
            if let Some((at, byte)) = change {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            } else if let (Some(index), None, 1..) = (index, data, register_id) {
                prop_assert_eq!(Asked::of_entity(&bytes), Some(Asked { register_id, index }));
            }
            if let Some(Asked { register_id, index }) = Asked::of_entity(&bytes) {
                let same = entity(register_id, Some(index), None);
                prop_assert_eq!(p4::Entity::decode(&bytes[..]).unwrap(), same);
            }
        }
    }

    #[test]
    fn the_entities_of_an_answer_are_cells_or_told_not_to_be() {
        let cell = |index| Cell {
            register_id: 7,
            index,
            bitstring: &[1],
        };
        let mut messages = Messages::default();
        messages.cell(&written::entity(7, 0, 1));
        messages.cell(&written::entity(7, 1, 1));
        messages.entity(&p4::Entity::default());
        messages.finish();
        let message = messages.take().unwrap();
        let found: Vec<_> = cells(&message.0).collect();
        assert_eq!(found, [Some(cell(0)), Some(cell(1)), None]);
        let cut: Vec<_> = cells(&message.0[..5]).collect();
        assert_eq!(cut, [None]);
    }
}
