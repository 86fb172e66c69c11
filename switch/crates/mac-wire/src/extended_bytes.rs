// SPDX-License-Identifier: Apache-2.0
//! An extended header in bytes: of each element 4 bits of type, 4 of length, and its value.

use crate::error::WireError;
use crate::extended::{Extended, FragmentControl, Key, UnsolicitedSync};
use crate::flow::Sid;
use crate::reader::Reader;

const REQUEST: u8 = 1;
const PRIVACY: u8 = 3;
const SERVICE_FLOW: u8 = 6;
const PRIVACY_MULTI_CHANNEL: u8 = 7;

const FIRST: u8 = 0x20;
const LAST: u8 = 0x10;
const SEQUENCE: u8 = 0x0f;
const QUEUE_INDICATOR: u8 = 0x80;
const ENCRYPTED: u16 = 0x8000;
const TOGGLE: u16 = 0x4000;

impl Extended {
    fn parts(&self) -> Result<(u8, Vec<u8>), WireError> {
        Ok(match self {
            Self::Request { minislots, sid } => {
                let [high, low] = sid_bits(*sid)?.to_be_bytes();
                (REQUEST, vec![*minislots, high, low])
            }
            Self::Privacy {
                key,
                sid,
                minislots,
                fragment,
            } => {
                let mut value = privacy(*key, *sid)?.to_vec();
                value.push(*minislots);
                if let Some(fragment) = fragment {
                    value.push(fragment.encode()?);
                }
                (PRIVACY, value)
            }
            Self::ServiceFlow {
                suppression,
                unsolicited,
            } => {
                let mut value = vec![*suppression];
                if let Some(sync) = unsolicited {
                    value.push(sync.encode()?);
                }
                (SERVICE_FLOW, value)
            }
            Self::PrivacyMultiChannel { key, sid } => {
                (PRIVACY_MULTI_CHANNEL, privacy(*key, *sid)?.to_vec())
            }
            Self::Other { kind, value } => {
                (at_most("extended header type", *kind, 15)?, value.clone())
            }
        })
    }

    /// An element of a known type with a length that it cannot have is kept as any other.
    fn read(kind: u8, value: &[u8]) -> Self {
        match (kind, value) {
            (REQUEST, &[minislots, high, low]) if high < 0x40 => Self::Request {
                minislots,
                sid: Sid(u16::from_be_bytes([high, low])),
            },
            (PRIVACY, &[first, high, low, minislots]) => Self::Privacy {
                key: Key::read(first, high),
                sid: read_sid(high, low),
                minislots,
                fragment: None,
            },
            (PRIVACY, &[first, high, low, minislots, control]) if control < 0x40 => Self::Privacy {
                key: Key::read(first, high),
                sid: read_sid(high, low),
                minislots,
                fragment: Some(FragmentControl {
                    first: control & FIRST != 0,
                    last: control & LAST != 0,
                    sequence: control & SEQUENCE,
                }),
            },
            (SERVICE_FLOW, &[suppression]) => Self::ServiceFlow {
                suppression,
                unsolicited: None,
            },
            (SERVICE_FLOW, &[suppression, sync]) => Self::ServiceFlow {
                suppression,
                unsolicited: Some(UnsolicitedSync {
                    queue_indicator: sync & QUEUE_INDICATOR != 0,
                    active_grants: sync & !QUEUE_INDICATOR,
                }),
            },
            (PRIVACY_MULTI_CHANNEL, &[first, high, low]) => Self::PrivacyMultiChannel {
                key: Key::read(first, high),
                sid: read_sid(high, low),
            },
            _ => Self::Other {
                kind,
                value: value.to_vec(),
            },
        }
    }
}

impl Key {
    fn read(first: u8, high: u8) -> Self {
        let flags = u16::from(high) << 8;
        Self {
            sequence: first >> 4,
            version: first & 0xf,
            encrypted: flags & ENCRYPTED != 0,
            toggle: flags & TOGGLE != 0,
        }
    }
}

impl FragmentControl {
    fn encode(self) -> Result<u8, WireError> {
        let sequence = at_most("fragment sequence", self.sequence, SEQUENCE)?;
        Ok(sequence | if self.first { FIRST } else { 0 } | if self.last { LAST } else { 0 })
    }
}

impl UnsolicitedSync {
    fn encode(self) -> Result<u8, WireError> {
        let grants = at_most("number of active grants", self.active_grants, 0x7f)?;
        Ok(grants
            | if self.queue_indicator {
                QUEUE_INDICATOR
            } else {
                0
            })
    }
}

/// The elements of an extended header as they are on the wire: at most [`Extended::MAX_TOTAL`].
pub(crate) struct Encoded(Vec<u8>);

impl Encoded {
    pub fn length(&self) -> u8 {
        self.0.len() as u8
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Encodes elements one behind the other.
pub(crate) fn encode(elements: &[Extended]) -> Result<Encoded, WireError> {
    let mut bytes = Vec::new();
    for element in elements {
        let (kind, value) = element.parts()?;
        let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
        bytes.push(kind << 4 | at_most("length of an extended header element", length, 15)?);
        bytes.extend(value);
        if bytes.len() > Extended::MAX_TOTAL {
            return Err(WireError::field(
                "length of an extended header",
                bytes.len() as u64,
                "it has to be at most 240",
            ));
        }
    }
    Ok(Encoded(bytes))
}

/// Reads the elements that fill an extended header.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Extended>, WireError> {
    if bytes.len() > Extended::MAX_TOTAL {
        return Err(WireError::field(
            "length of an extended header",
            bytes.len() as u64,
            "it has to be at most 240",
        ));
    }
    let mut reader = Reader::new("extended header", bytes);
    let mut elements = Vec::new();
    while reader.at() < bytes.len() {
        let head = reader.u8()?;
        let value = reader.take(usize::from(head & 0xf))?;
        elements.push(Extended::read(head >> 4, value));
    }
    Ok(elements)
}

fn privacy(key: Key, sid: Sid) -> Result<[u8; 3], WireError> {
    let sequence = at_most("key sequence", key.sequence, 15)?;
    let version = at_most("privacy version", key.version, 15)?;
    let flags = if key.encrypted { ENCRYPTED } else { 0 } | if key.toggle { TOGGLE } else { 0 };
    let [high, low] = (flags | sid_bits(sid)?).to_be_bytes();
    Ok([sequence << 4 | version, high, low])
}

fn read_sid(high: u8, low: u8) -> Sid {
    Sid(u16::from_be_bytes([high & 0x3f, low]))
}

/// The 14 bits of a SID.
pub(crate) fn sid_bits(sid: Sid) -> Result<u16, WireError> {
    if sid.0 <= Sid::ALL.0 {
        return Ok(sid.0);
    }
    Err(WireError::field("SID", sid.0, "it has to be of 14 bits"))
}

fn at_most(field: &'static str, value: u8, most: u8) -> Result<u8, WireError> {
    if value <= most {
        return Ok(value);
    }
    Err(WireError::field(
        field,
        value,
        "it has to fit into its bits",
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn sids() -> impl Strategy<Value = Sid> {
        (0..=0x3fff_u16).prop_map(Sid)
    }

    fn keys() -> impl Strategy<Value = Key> {
        (0..16_u8, 0..16_u8, any::<bool>(), any::<bool>()).prop_map(
            |(sequence, version, encrypted, toggle)| Key {
                sequence,
                version,
                encrypted,
                toggle,
            },
        )
    }

    pub(crate) fn elements() -> impl Strategy<Value = Extended> {
        let fragment =
            (any::<bool>(), any::<bool>(), 0..16_u8).prop_map(|(first, last, sequence)| {
                FragmentControl {
                    first,
                    last,
                    sequence,
                }
            });
        let sync = (any::<bool>(), 0..128_u8).prop_map(|(queue_indicator, active_grants)| {
            UnsolicitedSync {
                queue_indicator,
                active_grants,
            }
        });
        prop_oneof![
            (any::<u8>(), sids()).prop_map(|(minislots, sid)| Extended::Request { minislots, sid }),
            (keys(), sids(), any::<u8>(), proptest::option::of(fragment)).prop_map(
                |(key, sid, minislots, fragment)| Extended::Privacy {
                    key,
                    sid,
                    minislots,
                    fragment
                }
            ),
            (any::<u8>(), proptest::option::of(sync)).prop_map(|(suppression, unsolicited)| {
                Extended::ServiceFlow {
                    suppression,
                    unsolicited,
                }
            }),
            (keys(), sids()).prop_map(|(key, sid)| Extended::PrivacyMultiChannel { key, sid }),
            (8..16_u8, proptest::collection::vec(any::<u8>(), 0..16))
                .prop_map(|(kind, value)| Extended::Other { kind, value }),
        ]
    }

    #[test]
    fn the_queue_indicator_is_the_highest_bit_of_the_sync() {
        let element = Extended::ServiceFlow {
            suppression: 0,
            unsolicited: Some(UnsolicitedSync {
                queue_indicator: true,
                active_grants: 2,
            }),
        };
        assert_eq!(encode(&[element]).unwrap().bytes(), [0x62, 0, 0x82]);
    }

    #[test]
    fn what_does_not_fit_into_its_bits_is_refused() {
        let sid = Extended::Request {
            minislots: 1,
            sid: Sid(0x4000),
        };
        let long = Extended::Other {
            kind: 9,
            value: vec![0; 16],
        };
        let many = vec![
            Extended::Other {
                kind: 9,
                value: vec![0; 15]
            };
            16
        ];
        assert!(encode(&[sid]).is_err());
        assert!(encode(&[long]).is_err());
        assert!(encode(&many[..15]).is_ok());
        assert!(encode(&many).is_err());
    }

    proptest! {
        #[test]
        fn elements_come_back_as_they_were(
            elements in proptest::collection::vec(elements(), 0..14),
        ) {
            prop_assert_eq!(decode(encode(&elements).unwrap().bytes()).unwrap(), elements);
        }

        #[test]
        fn whatever_is_read_is_written_again_as_it_was(
            bytes in proptest::collection::vec(any::<u8>(), 0..260),
        ) {
            if let Ok(elements) = decode(&bytes) {
                let again = encode(&elements).unwrap();
                prop_assert_eq!(again.bytes(), &bytes[..]);
            }
        }
    }
}
