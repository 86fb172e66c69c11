// SPDX-License-Identifier: Apache-2.0
//! Requests whose updates or entities are still encoded.

use bytes::{BufMut, Bytes};
use prost::Message;
use tonic::Status;

use super::fields::{self, READ_REQUEST_ENTITIES, UPDATES, WRITE_REQUEST_UPDATES};
use super::{Encoded, malformed, written};
use crate::proto::p4::v1 as p4;

/// Appends an update that modifies a cell to a `WriteRequest`.
#[inline]
pub fn put_update(request: &mut impl BufMut, register_id: u32, index: i64, value: u128) {
    request.put_u8(WRITE_REQUEST_UPDATES);
    request.put_slice(&written::update(register_id, index, value));
}

/// The most bytes of a request besides its items. It is limited because they are decoded in one go.
const HEAD_BYTES: usize = 4096;

/// A request that is a batch of something.
pub trait Batch: Message + Default {
    /// The message's name.
    const NAME: &'static str;
    /// The number of the field that repeats, which is a message.
    const FIELD: u32;
    /// That message.
    type Item: Message + Default;
    /// Its name.
    const ITEM: &'static str;
}

impl Batch for p4::WriteRequest {
    const NAME: &'static str = "WriteRequest";
    const FIELD: u32 = UPDATES;
    type Item = p4::Update;
    const ITEM: &'static str = "Update";
}

impl Batch for p4::ReadRequest {
    const NAME: &'static str = "ReadRequest";
    const FIELD: u32 = READ_REQUEST_ENTITIES;
    type Item = p4::Entity;
    const ITEM: &'static str = "Entity";
}

/// A Write's request.
pub type WriteRequest = Request<p4::WriteRequest>;

/// A Read's request.
pub type ReadRequest = Request<p4::ReadRequest>;

/// A request whose items are decoded one by one.
#[derive(Debug)]
pub struct Request<B> {
    /// Everything but the items.
    pub head: B,
    /// How many items there are.
    pub count: usize,
    message: Bytes,
}

impl<B: Batch> Request<B> {
    /// Reads the head of a message and counts its items.
    ///
    /// # Errors
    /// INTERNAL: the bytes are no such request. INVALID_ARGUMENT: there is more in front of its
    /// items than any client has there.
    pub fn decode(message: Encoded) -> Result<Self, Status> {
        let message = message.0;
        let mut rest = &message[..];
        let mut head = Vec::new();
        let mut count = 0;
        while !rest.is_empty() {
            let field = fields::field(&mut rest)
                .ok_or_else(|| malformed(B::NAME, "a field is cut off or of no known type"))?;
            if field.number == u64::from(B::FIELD) && field.contents.is_some() {
                count += 1;
            } else {
                if head.len() + field.bytes.len() > HEAD_BYTES {
                    return Err(Status::invalid_argument(format!(
                        "the {} has more than {HEAD_BYTES} bytes beside what it is a batch of: a role \
                         has a name of 256 at the most",
                        B::NAME
                    )));
                }
                head.extend_from_slice(field.bytes);
            }
        }
        let head = B::decode(&head[..]).map_err(|error| malformed(B::NAME, &error.to_string()))?;
        Ok(Request {
            head,
            count,
            message,
        })
    }

    /// The items, each encoded.
    pub fn items(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.message[..];
        // `decode` has looked through all items, so none of them is malformed here.
        std::iter::from_fn(move || fields::field(&mut rest))
            .filter(|field| field.number == u64::from(B::FIELD))
            .filter_map(|field| field.contents)
    }

    /// Reads one of the items.
    ///
    /// # Errors
    /// INTERNAL: the bytes are no such message.
    pub fn item(item: &[u8]) -> Result<B::Item, Status> {
        B::Item::decode(item).map_err(|error| malformed(B::ITEM, &error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tonic::Code;

    fn request() -> p4::WriteRequest {
        p4::WriteRequest {
            device_id: 1 << 40,
            election_id: Some(p4::Uint128 { high: 3, low: 4 }),
            updates: vec![
                p4::Update {
                    r#type: 1,
                    entity: Some(p4::Entity::default()),
                },
                p4::Update::default(),
            ],
            atomicity: 1,
            role: "reader".into(),
            ..Default::default()
        }
    }

    #[test]
    fn the_head_and_the_updates_are_those_of_prost() {
        let whole = request();
        let read = WriteRequest::decode(Encoded(whole.encode_to_vec().into())).unwrap();
        assert_eq!(read.count, 2);
        let updates: Vec<_> = read
            .items()
            .map(|u| WriteRequest::item(u).unwrap())
            .collect();
        let again = p4::WriteRequest {
            updates,
            ..read.head
        };
        assert_eq!(again, whole);
    }

    proptest! {
        /// This module and prost agree on whether any bytes are a request, and on which one.
        #[test]
        fn damaged_requests_are_refused_as_prost_refuses_them(
            at: prop::sample::Index, byte: u8, cut: prop::sample::Index,
        ) {
            let mut bytes = request().encode_to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut.index(3));
            let theirs = p4::WriteRequest::decode(&bytes[..]);
            let ours = WriteRequest::decode(Encoded(bytes.clone().into())).and_then(|read| {
                let updates = read.items().map(WriteRequest::item).collect::<Result<_, _>>()?;
                Ok(p4::WriteRequest { updates, ..read.head })
            });
            match (theirs, ours) {
                (Ok(theirs), Ok(ours)) => prop_assert_eq!(theirs, ours),
                (Err(_), Err(status)) => prop_assert_eq!(status.code(), Code::Internal),
                // Groups, which no .proto of proto3 can have, prost skips.
                (Ok(_), Err(_)) => prop_assert!(bytes.iter().any(|byte| byte & 7 == 3)),
                (Err(error), Ok(_)) => prop_assert!(false, "only prost refuses: {}", error),
            }
        }
    }
}
