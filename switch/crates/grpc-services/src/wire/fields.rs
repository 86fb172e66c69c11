// SPDX-License-Identifier: Apache-2.0
//! Protobuf's wire format: the fields of a message, not looked into.
//! (<https://protobuf.dev/programming-guides/encoding/>)

/// A field's number and wire type as one number, which is its first varint.
const fn key(number: u32, wire_type: u32) -> u8 {
    assert!(number < 16 && wire_type < 8);
    (number << 3 | wire_type) as u8
}

/// Wire type of integers.
const VARINT: u32 = 0;
/// Wire type of what has a length: messages, bytes, strings.
const LENGTH: u32 = 2;

// Keys of p4/v1/p4runtime.proto and p4data.proto, by message and field.

pub const UPDATES: u32 = 4;
pub const WRITE_REQUEST_UPDATES: u8 = key(UPDATES, LENGTH);
pub const READ_REQUEST_ENTITIES: u32 = 2;
pub const READ_RESPONSE_ENTITIES: u8 = key(1, LENGTH);
pub const UPDATE_TYPE: u8 = key(1, VARINT);
pub const UPDATE_ENTITY: u8 = key(2, LENGTH);
pub const ENTITY_REGISTER_ENTRY: u8 = key(11, LENGTH);
pub const REGISTER_ID: u8 = key(1, VARINT);
pub const REGISTER_INDEX: u8 = key(2, LENGTH);
pub const REGISTER_DATA: u8 = key(3, LENGTH);
pub const INDEX: u8 = key(1, VARINT);
pub const DATA_BITSTRING: u8 = key(1, LENGTH);

/// Takes a varint off the front; `None` when it is cut off or longer than 64 bits.
#[inline]
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    match **bytes {
        [first, ref rest @ ..] if first < 0x80 => {
            *bytes = rest;
            Some(u64::from(first))
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *bytes = rest;
            Some(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        _ => long_varint(bytes),
    }
}

fn long_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (n, &byte) in bytes.iter().enumerate().take(10) {
        let part = u64::from(byte & 0x7f);
        // The tenth byte has the 64th bit.
        if n == 9 && byte > 1 {
            return None;
        }
        value |= part << (7 * n);
        if byte < 0x80 {
            *bytes = &bytes[n + 1..];
            return Some(value);
        }
    }
    None
}

/// Takes what is behind a length off the front.
#[inline]
pub fn delimited<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint(bytes)?).ok()?;
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub number: u64,
    /// The contents of a field with a length.
    pub contents: Option<&'a [u8]>,
    /// All of it, with its key.
    pub bytes: &'a [u8],
}

/// Takes a field off the front; `None` when it is cut off, or of a wire type
/// that proto3 does not have.
#[inline]
pub fn field<'a>(bytes: &mut &'a [u8]) -> Option<Field<'a>> {
    let start = *bytes;
    let key = varint(bytes)?;
    let mut contents = None;
    match key & 7 {
        0 => drop(varint(bytes)?),
        1 => *bytes = bytes.get(8..)?,
        2 => contents = Some(delimited(bytes)?),
        5 => *bytes = bytes.get(4..)?,
        _ => return None,
    }
    Some(Field {
        number: key >> 3,
        contents,
        bytes: &start[..start.len() - bytes.len()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_are_those_of_prost(value: u64, shift in 0u32..64, tail: Vec<u8>) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            prost::encoding::encode_varint(value, &mut bytes);
            let length = bytes.len();
            bytes.extend(&tail);
            let mut rest = &bytes[..];
            prop_assert_eq!(varint(&mut rest), Some(value));
            prop_assert_eq!(rest, &tail[..]);
            let mut cut = &bytes[..length - 1];
            prop_assert_eq!(varint(&mut cut), None);
        }

        #[test]
        fn any_bytes_are_decoded_as_prost_does(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut rest = &bytes[..];
            let theirs = prost::encoding::decode_varint(&mut &bytes[..]).ok();
            prop_assert_eq!(varint(&mut rest), theirs);
        }
    }

    #[test]
    fn a_field_that_is_cut_off_is_none() {
        // Number 4 with a length of 3, then number 1, a varint.
        let whole = [0x22, 3, 7, 8, 9, 0x08, 0x96, 1];
        let mut rest = &whole[..];
        let first = field(&mut rest).unwrap();
        assert_eq!((first.number, first.contents), (4, Some(&[7, 8, 9][..])));
        let second = field(&mut rest).unwrap();
        assert_eq!((second.number, second.bytes), (1, &whole[5..]));
        assert!(rest.is_empty() && field(&mut rest).is_none());
        for cut in (1..5).chain([6, 7]) {
            let mut rest = &whole[..cut];
            let whole_fields = std::iter::from_fn(|| field(&mut rest)).count();
            assert_eq!(whole_fields, usize::from(cut > 5), "{cut}");
        }
        // Groups are not in proto3.
        assert!(field(&mut &[0x0b, 0x0c][..]).is_none());
    }
}
