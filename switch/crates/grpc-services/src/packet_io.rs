// SPDX-License-Identifier: Apache-2.0
//! Packet-out and packet-in: metadata as a bit-packed header in front of the
//! frame (P4Runtime specification 1.5, section 16.1).

use prost::bytes::Bytes;

use crate::bytestring;
use crate::failure::Failure;
use crate::proto::p4::config::v1::ControllerPacketMetadata;
use crate::proto::p4::v1 as p4;

/// A header for the controller, as P4Info describes it.
#[derive(Clone, Debug, Default)]
pub struct HeaderLayout {
    fields: Vec<Field>,
    /// Bytes of the header.
    len: usize,
}

#[derive(Clone, Debug)]
struct Field {
    id: u32,
    name: String,
    /// Bits, 1 to 128.
    width: u16,
}

impl HeaderLayout {
    /// The layout of a controller header; `is_translated` knows the names of types that are.
    ///
    /// # Errors
    /// A width that is not supported, or a header that is not whole bytes.
    pub fn new(
        header: &ControllerPacketMetadata,
        is_translated: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let header_name = header.preamble.as_ref().map_or("", |head| &head.name);
        let mut bits = 0;
        let mut fields = Vec::with_capacity(header.metadata.len());
        for field in &header.metadata {
            if field
                .type_name
                .as_ref()
                .is_some_and(|named| is_translated(&named.name))
            {
                // P4Info has the controller's width only, not the header's.
                return Err(format!(
                    "P4Info's controller header {header_name}: the type of field {} is \
                     translated (p4runtime_translation), which this target does not support there",
                    field.name
                ));
            }
            let width = u16::try_from(field.bitwidth).ok();
            let width = width
                .filter(|width| (1..=128).contains(width))
                .ok_or_else(|| {
                    format!(
                        "P4Info's controller header {header_name}: field {} has {} bits, supported \
                     are 1 to 128",
                        field.name, field.bitwidth
                    )
                })?;
            bits += usize::from(width);
            fields.push(Field {
                id: field.id,
                name: field.name.clone(),
                width,
            });
        }
        if bits % 8 != 0 {
            return Err(format!(
                "P4Info's controller header {header_name} has {bits} bits, which are not whole \
                 bytes"
            ));
        }
        Ok(HeaderLayout {
            fields,
            len: bits / 8,
        })
    }

    /// The bytes that the switch's CPU port receives.
    ///
    /// # Errors
    /// The metadata are not exactly those of the header; a value is too wide.
    pub fn pack(&self, packet: &p4::PacketOut) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::with_capacity(self.len + packet.payload.len());
        let mut bits = BitWriter::default();
        for field in &self.fields {
            let mut given = packet
                .metadata
                .iter()
                .filter(|metadata| metadata.metadata_id == field.id);
            let place = || format!("packet_out metadata {} (id {})", field.name, field.id);
            let Some(metadata) = given.next() else {
                return Err(Failure::invalid(format!("{} is missing", place())));
            };
            if given.next().is_some() {
                return Err(Failure::invalid(format!("{} is given twice", place())));
            }
            let value = bytestring::decode(&metadata.value, field.width)
                .map_err(|error| Failure::invalid(format!("{}: the value {error}", place())))?;
            bits.write(value, field.width, &mut bytes);
        }
        // Each field was found once, so any further metadata are unknown.
        if packet.metadata.len() > self.fields.len() {
            let known = |id| self.fields.iter().any(|field| field.id == id);
            let unknown = packet
                .metadata
                .iter()
                .find(|metadata| !known(metadata.metadata_id));
            return Err(Failure::invalid(format!(
                "packet_out has no metadata with id {}",
                unknown.map_or(0, |metadata| metadata.metadata_id)
            )));
        }
        bytes.extend_from_slice(&packet.payload);
        Ok(bytes)
    }

    /// Splits the header off a frame from the CPU port; `None` if the frame is shorter than the
    /// header.
    pub fn unpack(&self, frame: Vec<u8>) -> Option<p4::PacketIn> {
        if frame.len() < self.len {
            return None;
        }
        let mut offset = 0;
        let metadata = self.fields.iter().map(|field| {
            let value = read_bits(&frame, offset, field.width);
            offset += usize::from(field.width);
            p4::PacketMetadata {
                metadata_id: field.id,
                value: bytestring::encode(value),
            }
        });
        let metadata = metadata.collect();
        Some(p4::PacketIn {
            payload: Bytes::from(frame).slice(self.len..),
            metadata,
        })
    }
}

/// Appends big-endian bit fields; whole bytes go out as they fill.
#[derive(Default)]
struct BitWriter {
    pending: u8,
    /// How many bits `pending` has, below 8.
    count: u16,
}

impl BitWriter {
    fn write(&mut self, value: u128, width: u16, out: &mut Vec<u8>) {
        let mut left = width;
        while left > 0 {
            let take = left.min(8 - self.count);
            let chunk = (value >> (left - take)) as u8 & (0xff >> (8 - take));
            // `take` can be 8, which a u8 cannot be shifted by.
            self.pending = (u16::from(self.pending) << take) as u8 | chunk;
            self.count += take;
            left -= take;
            if self.count == 8 {
                out.push(self.pending);
                (self.pending, self.count) = (0, 0);
            }
        }
    }
}

fn read_bits(bytes: &[u8], offset: usize, width: u16) -> u128 {
    let mut value = 0;
    let mut position = offset;
    let mut left = usize::from(width);
    while left > 0 {
        let free = 8 - position % 8;
        let take = left.min(free);
        let chunk = bytes[position / 8] >> (free - take) & (0xff >> (8 - take));
        value = value << take | u128::from(chunk);
        position += take;
        left -= take;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::p4::config::v1::controller_packet_metadata::Metadata;
    use tonic::Code;

    fn layout(widths: &[i32]) -> Result<HeaderLayout, String> {
        let metadata = widths.iter().zip(1..).map(|(&bitwidth, id)| Metadata {
            id,
            name: format!("f{id}"),
            bitwidth,
            ..Default::default()
        });
        let header = ControllerPacketMetadata {
            preamble: None,
            metadata: metadata.collect(),
        };
        HeaderLayout::new(&header, |_| false)
    }

    fn packet(values: &[(u32, &[u8])]) -> p4::PacketOut {
        let metadata = values
            .iter()
            .map(|&(metadata_id, value)| p4::PacketMetadata {
                metadata_id,
                value: value.to_vec(),
            });
        p4::PacketOut {
            payload: Bytes::from_static(b"frame"),
            metadata: metadata.collect(),
        }
    }

    #[test]
    fn packs_and_unpacks_fields_across_bytes() {
        let layout = layout(&[8, 7, 9, 64, 3, 5, 128]).unwrap();
        let wide = [0xff; 16];
        let out = packet(&[
            (3, &[1, 0x55]),
            (1, &[0xab]),
            (2, &[0]),
            (4, &[1]),
            (5, &[5]),
            (6, &[0x11]),
            (7, &wide),
        ]);
        let bytes = layout.pack(&out).unwrap();
        let mut expected = vec![0xab, 1, 0x55, 0, 0, 0, 0, 0, 0, 0, 1, 0b1011_0001];
        expected.extend_from_slice(&wide);
        expected.extend_from_slice(b"frame");
        assert_eq!(bytes, expected);

        let back = layout.unpack(bytes).unwrap();
        assert_eq!(back.payload, out.payload);
        let mut metadata = out.metadata;
        metadata.sort_by_key(|metadata| metadata.metadata_id);
        assert_eq!(back.metadata, metadata);
    }

    #[test]
    fn metadata_must_be_those_of_the_header() {
        let layout = layout(&[8, 16]).unwrap();
        let message = |values: &[(u32, &[u8])]| {
            let failure = layout.pack(&packet(values)).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArgument);
            failure.message
        };
        assert!(message(&[(1, &[1])]).contains("f2 (id 2) is missing"));
        assert!(message(&[(1, &[1]), (2, &[1]), (2, &[1])]).contains("twice"));
        assert!(message(&[(1, &[1]), (2, &[1]), (7, &[1])]).contains("id 7"));
        assert!(message(&[(1, &[1, 0]), (2, &[1])]).contains("8 bits"));
        assert!(message(&[(1, &[]), (2, &[1])]).contains("empty"));
    }

    #[test]
    fn headers_are_whole_bytes_and_frames_hold_them() {
        assert!(layout(&[7]).unwrap_err().contains("7 bits"));
        assert!(layout(&[0]).is_err() && layout(&[136]).is_err());
        assert!(layout(&[16]).unwrap().unpack(vec![1]).is_none());
        let bare = HeaderLayout::default();
        assert_eq!(bare.unpack(vec![1]).unwrap().payload.as_ref(), [1]);
    }
}
