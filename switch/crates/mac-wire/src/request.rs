// SPDX-License-Identifier: Apache-2.0
//! The request of a modem.

use crate::error::WireError;
use crate::flow::Sid;
use crate::mac_header::MacHeader;

/// How much a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Minislots of one burst, with all that the PHY adds (DOCSIS 1.x and 2.0).
    Minislots(u32),
    /// MAC bytes beyond those that were asked for before (DOCSIS 3.0 and later).
    Bytes(u64),
}

impl Amount {
    /// Most minislots that a request can ask for: it has 8 bits for them.
    pub const MOST_MINISLOTS: u32 = u8::MAX as u32;
    /// Most units that a queue-depth request can ask for: it has 16 bits for them.
    pub const MOST_UNITS: u64 = u16::MAX as u64;

    /// The amount that is heard when this is asked for: bytes rounded up to units of `unit` bytes
    /// (TLV 24.26, 1 to 16), and no more than the field holds. A modem notes this, and not what it
    /// wanted, as asked for.
    #[must_use]
    pub fn on_wire(self, unit: u8) -> Self {
        match self {
            Self::Minislots(minislots) => Self::Minislots(minislots.min(Self::MOST_MINISLOTS)),
            Self::Bytes(bytes) => Self::Bytes(u64::from(units(bytes, unit)) * in_bounds(unit)),
        }
    }
}

/// A request, in a contention slot, in a poll or in the head of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Who asks.
    pub sid: Sid,
    /// How much.
    pub amount: Amount,
}

impl Request {
    /// The request that is heard when this is sent: [`Amount::on_wire`].
    #[must_use]
    pub fn on_wire(self, unit: u8) -> Self {
        Self {
            amount: self.amount.on_wire(unit),
            ..self
        }
    }

    /// Its frame: 6 bytes for minislots, 7 for bytes, in units of `unit` of them.
    ///
    /// # Errors
    /// A SID of more than 14 bits.
    pub fn encode(&self, unit: u8) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(MacHeader::QUEUE_DEPTH_REQUEST_LENGTH);
        let sid = self.sid;
        match self.amount {
            Amount::Minislots(minislots) => MacHeader::Request {
                minislots: u8::try_from(minislots).unwrap_or(u8::MAX),
                sid,
            },
            Amount::Bytes(bytes) => MacHeader::QueueDepthRequest {
                units: units(bytes, unit),
                sid,
            },
        }
        .encode(&mut out)?;
        Ok(out)
    }

    /// Reads a request frame; `unit` says in how many bytes a SID's requests count.
    ///
    /// # Errors
    /// What [`MacHeader::decode`] refuses; a frame that is not a request; bytes behind it.
    pub fn decode(bytes: &[u8], unit: impl FnOnce(Sid) -> u8) -> Result<Self, WireError> {
        let (header, length) = MacHeader::decode(bytes)?;
        if length != bytes.len() {
            return Err(WireError::Length {
                of: "request frame",
                needed: length,
                got: bytes.len(),
            });
        }
        match header {
            MacHeader::Request { minislots, sid } => Ok(Self {
                sid,
                amount: Amount::Minislots(minislots.into()),
            }),
            MacHeader::QueueDepthRequest { units, sid } => Ok(Self {
                sid,
                amount: Amount::Bytes(u64::from(units) * in_bounds(unit(sid))),
            }),
            _ => Err(WireError::field(
                "frame control of a request",
                bytes[0],
                "it is not that of a request",
            )),
        }
    }
}

/// Units of the field that asks for `bytes`.
fn units(bytes: u64, unit: u8) -> u16 {
    u16::try_from(bytes.div_ceil(in_bounds(unit))).unwrap_or(u16::MAX)
}

/// [`crate::FlowConfig::check`] refuses other units.
fn in_bounds(unit: u8) -> u64 {
    unit.clamp(1, 16).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extended_bytes::tests::sids;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_rounded_up_to_units_and_cut_to_what_the_field_holds() {
        assert_eq!(Amount::Bytes(1525).on_wire(4), Amount::Bytes(1528));
        assert_eq!(Amount::Bytes(1 << 40).on_wire(4), Amount::Bytes(262_140));
        assert_eq!(Amount::Minislots(300).on_wire(4), Amount::Minislots(255));
    }

    #[test]
    fn a_frame_that_is_not_a_request_is_not_read_as_one() {
        let mut bytes = Vec::new();
        MacHeader::Concatenation {
            frames: 2,
            payload: 0,
        }
        .encode(&mut bytes)
        .unwrap();
        assert!(Request::decode(&bytes, |_| 4).is_err());
    }

    fn amounts() -> impl Strategy<Value = Amount> {
        prop_oneof![
            (0..400_u32).prop_map(Amount::Minislots),
            prop_oneof![0..2_000_000_u64, any::<u64>()].prop_map(Amount::Bytes),
        ]
    }

    proptest! {
        #[test]
        fn what_is_sent_is_heard_as_on_wire_says(
            sid in sids(), amount in amounts(), unit in any::<u8>(),
        ) {
            let request = Request { sid, amount };
            let bytes = request.encode(unit).unwrap();
            let heard = Request::decode(&bytes, |asked| {
                assert_eq!(asked, sid);
                unit
            });
            prop_assert_eq!(heard.unwrap(), request.on_wire(unit));
            prop_assert_eq!(request.on_wire(unit).on_wire(unit), request.on_wire(unit));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..10)) {
            let _ = Request::decode(&bytes, |_| 0);
        }
    }
}
