// SPDX-License-Identifier: Apache-2.0
//! A `WriteRequest` whose updates are still encoded.

use bytes::{BufMut, Bytes};
use prost::Message;
use tonic::Status;

use super::fields::{self, UPDATES, WRITE_REQUEST_UPDATES};
use super::{Encoded, malformed, written};
use crate::proto::p4::v1 as p4;

/// Appends an update that modifies a cell to a `WriteRequest`.
#[inline]
pub fn put_update(request: &mut impl BufMut, register_id: u32, index: i64, value: u128) {
    request.put_u8(WRITE_REQUEST_UPDATES);
    request.put_slice(&written::update(register_id, index, value));
}

/// What a client wants to write.
#[derive(Debug)]
pub struct WriteRequest {
    /// Everything but the updates.
    pub head: p4::WriteRequest,
    /// How many updates there are.
    pub count: usize,
    message: Bytes,
}

impl WriteRequest {
    /// Reads the head of a message and counts its updates.
    ///
    /// # Errors
    /// INTERNAL: the bytes are no `WriteRequest`.
    pub fn decode(message: Encoded) -> Result<Self, Status> {
        let message = message.0;
        let mut rest = &message[..];
        let mut head = Vec::new();
        let mut count = 0;
        while !rest.is_empty() {
            let field = fields::field(&mut rest).ok_or_else(|| {
                malformed("WriteRequest", "a field is cut off or of no known type")
            })?;
            if field.number == u64::from(UPDATES) && field.contents.is_some() {
                count += 1;
            } else {
                head.extend_from_slice(field.bytes);
            }
        }
        let head = p4::WriteRequest::decode(&head[..])
            .map_err(|error| malformed("WriteRequest", &error.to_string()))?;
        Ok(WriteRequest {
            head,
            count,
            message,
        })
    }

    /// The updates, each encoded.
    pub fn updates(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.message[..];
        // All of it was looked through before.
        std::iter::from_fn(move || fields::field(&mut rest))
            .filter(|field| field.number == u64::from(UPDATES))
            .filter_map(|field| field.contents)
    }
}

/// Reads one of the updates.
///
/// # Errors
/// INTERNAL: the bytes are no `Update`.
pub fn decode_update(update: &[u8]) -> Result<p4::Update, Status> {
    p4::Update::decode(update).map_err(|error| malformed("Update", &error.to_string()))
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
        let updates: Vec<_> = read.updates().map(|u| decode_update(u).unwrap()).collect();
        let again = p4::WriteRequest {
            updates,
            ..read.head
        };
        assert_eq!(again, whole);
    }

    proptest! {
        /// Whatever the bytes, we and prost agree whether they are a request,
        /// and which.
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
                let updates = read.updates().map(decode_update).collect::<Result<_, _>>()?;
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
