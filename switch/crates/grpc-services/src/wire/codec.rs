// SPDX-License-Identifier: Apache-2.0
//! Messages that gRPC neither decodes nor encodes.

use bytes::{Buf, BufMut, Bytes};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// An encoded message, as it is on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded(pub Bytes);

/// The codec that leaves messages encoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodedCodec;

impl Codec for EncodedCodec {
    type Encode = Encoded;
    type Decode = Encoded;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for EncodedCodec {
    type Item = Encoded;
    type Error = Status;

    fn encode(&mut self, message: Encoded, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(message.0.len());
        buffer.put(message.0);
        Ok(())
    }
}

impl Decoder for EncodedCodec {
    type Item = Encoded;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Encoded>, Status> {
        let length = buffer.remaining();
        Ok(Some(Encoded(buffer.copy_to_bytes(length))))
    }
}
