// SPDX-License-Identifier: Apache-2.0
//! Puts the entities that answer a Read into messages of a size that clients take.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};
use prost::{Message, encode_length_delimiter, length_delimiter_len};

use super::Encoded;
use super::fields::READ_RESPONSE_ENTITIES;
use super::written::Written;
use crate::proto::p4::v1 as p4;

/// The longest message, bytes, unless one entity is longer. Clients take 4 MiB unless they are told
/// otherwise. Shorter messages are faster for a client that decodes one while the next is on its
/// way.
const MESSAGE_BYTES: usize = 128 << 10;

/// `ReadResponse` messages that are being filled.
#[derive(Debug, Default)]
pub struct Messages {
    /// The full messages, the oldest first.
    full: VecDeque<Bytes>,
    /// The message that is being filled.
    open: BytesMut,
}

impl Messages {
    /// Appends an entity.
    pub fn entity(&mut self, entity: &p4::Entity) {
        let length = entity.encoded_len();
        self.delimit(length);
        entity.encode_raw(&mut self.open);
    }

    /// Appends a cell of a register.
    #[inline]
    pub fn cell(&mut self, cell: &Written) {
        self.delimit(cell.len());
        self.open.put_slice(cell);
    }

    fn delimit(&mut self, length: usize) {
        let needed = 1 + length_delimiter_len(length) + length;
        if self.open.len() + needed > MESSAGE_BYTES {
            self.finish();
        }
        if self.open.capacity() - self.open.len() < needed {
            self.open.reserve(needed.max(MESSAGE_BYTES));
        }
        self.open.put_u8(READ_RESPONSE_ENTITIES);
        // There is room for it.
        let _ = encode_length_delimiter(length, &mut self.open);
    }

    /// Closes the message that is being filled, and returns whether it had any entities.
    pub fn finish(&mut self) -> bool {
        let any = !self.open.is_empty();
        if any {
            self.full.push_back(self.open.split().freeze());
        }
        any
    }

    /// Takes the oldest full message.
    pub fn take(&mut self) -> Option<Encoded> {
        self.full.pop_front().map(Encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4::entity::Entity;

    #[test]
    fn messages_are_as_long_as_said_unless_one_entity_is_longer() {
        let entity = |bytes: usize| {
            let member = p4::ActionProfileMember {
                member_id: 1,
                action: Some(p4::Action {
                    action_id: 1,
                    params: vec![p4::action::Param {
                        param_id: 1,
                        value: vec![1; bytes],
                    }],
                }),
                ..Default::default()
            };
            p4::Entity {
                entity: Some(Entity::ActionProfileMember(member)),
            }
        };
        let entities = [
            1000,
            MESSAGE_BYTES / 2,
            MESSAGE_BYTES / 2,
            2 * MESSAGE_BYTES,
            5,
            6,
        ];
        let entities = entities.map(entity);
        let mut messages = Messages::default();
        assert!(messages.take().is_none());
        for entity in &entities {
            messages.entity(entity);
        }
        messages.finish();
        let mut found = Vec::new();
        let mut counts = Vec::new();
        while let Some(message) = messages.take() {
            let message = p4::ReadResponse::decode(message.0).unwrap();
            counts.push(message.entities.len());
            found.extend(message.entities);
        }
        assert_eq!(found, entities);
        assert_eq!(counts, [2, 1, 1, 2]);
    }
}
