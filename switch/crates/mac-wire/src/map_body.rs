// SPDX-License-Identifier: Apache-2.0
//! The body of a MAP message in bytes: mac.md, "Minislots and MAP".
//!
//! An information element ends where the next begins, so minislots that are nobody's are an
//! element of SID 0. The NULL element ends the MAP; elements behind it have no minislots and name
//! those whose grants are pending.

use crate::clock::Minislot;
use crate::error::WireError;
use crate::flow::Sid;
use crate::map::{Backoff, Element, Map, Usage};
use crate::reader::Reader;

/// Bytes in front of the information elements.
const FIXED: usize = 16;
/// Bytes of an information element.
const ELEMENT: usize = 4;
/// The NULL information element's usage code.
const NULL: u8 = 7;
/// Nobody's.
const NOBODY: u16 = 0;
const FOURTEEN_BITS: u32 = 0x3fff;

impl Map {
    /// Information elements that it takes, with those of minislots between its elements, the
    /// NULL element and those of pending grants: at most [`Map::MAX_INFORMATION_ELEMENTS`] fit.
    #[must_use]
    pub fn information_elements(&self) -> usize {
        let mut at = self.start;
        let mut count = 1 + self.pending.len();
        for element in &self.elements {
            count += 1 + usize::from(element.first > at);
            at = element.end();
        }
        count + usize::from(self.end > at)
    }

    /// The body of its MAC management message.
    ///
    /// # Errors
    /// The first rule that it breaks: elements in order, within it and without overlap, at most 240
    /// information elements and 4096 minislots, an Ack Time that is not after its start, SIDs of 14
    /// bits, backoff exponents of at most 15 with the start not above the end.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        let minislots = self.check()?;
        let count = self.information_elements();
        let Some(count) = u8::try_from(count)
            .ok()
            .filter(|_| count <= Self::MAX_INFORMATION_ELEMENTS)
        else {
            return Err(too_many_elements(count as u64));
        };
        let mut bytes = Vec::with_capacity(FIXED + ELEMENT * usize::from(count));
        bytes.extend([self.channel, self.ucd_count, count, 0]);
        bytes.extend((self.start.0 as u32).to_be_bytes());
        bytes.extend((self.ack.0 as u32).to_be_bytes());
        for backoff in [self.ranging, self.data] {
            bytes.extend([backoff.start, backoff.end]);
        }
        let nobody = Usage::LongData.code();
        let mut at = 0;
        let mut put = |sid: u16, code: u8, offset: u32| {
            let element = u32::from(sid) << 18 | u32::from(code) << 14 | offset;
            bytes.extend(element.to_be_bytes());
        };
        for element in &self.elements {
            // `check` has seen that it is in the MAP, which has at most 4096 minislots.
            let offset = (element.first.0 - self.start.0) as u32;
            if offset > at {
                put(NOBODY, nobody, at);
            }
            put(element.sid.0, element.usage.code(), offset);
            at = offset + element.minislots;
        }
        if minislots > at {
            put(NOBODY, nobody, at);
        }
        put(NOBODY, NULL, minislots);
        for sid in &self.pending {
            put(sid.0, Usage::LongData.code(), minislots);
        }
        Ok(bytes)
    }

    /// Its minislots, if it can be encoded.
    fn check(&self) -> Result<u32, WireError> {
        let minislots = self.end.0.saturating_sub(self.start.0);
        let minislots = u32::try_from(minislots).unwrap_or(u32::MAX);
        check_minislots(minislots)?;
        if unwrap(self.ack.0 as u32, self.start) != Some(self.ack) {
            return Err(WireError::field(
                "Ack Time",
                self.ack.0,
                "it has to be within 2^31 minislots of Alloc Start",
            ));
        }
        check_ack(self.ack, self.start)?;
        check_backoff(self.ranging)?;
        check_backoff(self.data)?;
        let mut at = self.start;
        for element in &self.elements {
            if element.sid.0 == NOBODY || u32::from(element.sid.0) > FOURTEEN_BITS {
                return Err(sid_out_of_range(element.sid.0));
            }
            if element.first < at {
                return Err(WireError::field(
                    "first minislot of an element",
                    element.first.0,
                    "it has to be in the MAP and not before the end of the element in front",
                ));
            }
            at = element.end();
            if element.minislots == 0 || at > self.end {
                return Err(WireError::field(
                    "number of minislots of an element",
                    element.minislots,
                    "it has to be at least 1, and the element has to end within the MAP",
                ));
            }
        }
        match self.pending.iter().find(|sid| !sid.is_one()) {
            Some(sid) => Err(sid_out_of_range(sid.0)),
            None => Ok(minislots),
        }
    }

    /// Reads the body of a MAC management message of type MAP. Usage codes that schedulers here do
    /// not give are skipped, with their minislots.
    ///
    /// `reference` is a minislot within 2^31 of the MAP's start, such as the end of the MAP before:
    /// the wire has only the lower 32 bits.
    ///
    /// # Errors
    /// The first rule that it breaks, as of [`Map::encode`]; minislots before the channel's first;
    /// bytes that are missing or left over; no NULL element.
    pub fn decode(body: &[u8], reference: Minislot) -> Result<Self, WireError> {
        let mut reader = Reader::new("MAP", body);
        let channel = reader.u8()?;
        let ucd_count = reader.u8()?;
        let count = reader.u8()?;
        if usize::from(count) > Self::MAX_INFORMATION_ELEMENTS {
            return Err(too_many_elements(count.into()));
        }
        reader.u8()?;
        let start = minislot("Alloc Start", reader.u32()?, reference)?;
        let ack = minislot("Ack Time", reader.u32()?, start)?;
        check_ack(ack, start)?;
        let mut backoff = || -> Result<Backoff, WireError> {
            let (start, end) = (reader.u8()?, reader.u8()?);
            check_backoff(Backoff { start, end })
        };
        let (ranging, data) = (backoff()?, backoff()?);
        let mut map = Self {
            channel,
            ucd_count,
            start,
            end: start,
            ack,
            ranging,
            data,
            elements: Vec::with_capacity(count.into()),
            pending: Vec::new(),
        };
        map.read_elements(&mut reader, count)?;
        reader.end()?;
        Ok(map)
    }

    fn read_elements(&mut self, reader: &mut Reader, count: u8) -> Result<(), WireError> {
        // The element whose end is not known yet.
        let mut open: Option<(u16, u8, u32)> = None;
        let mut rest = 0..count;
        loop {
            if rest.next().is_none() {
                return Err(WireError::field(
                    "number of information elements",
                    count,
                    "none of them is the NULL element that ends a MAP",
                ));
            }
            let (sid, code, offset) = information_element(reader)?;
            if let Some((sid, code, first)) = open.take() {
                if offset <= first {
                    return Err(WireError::field(
                        "offset of an information element",
                        offset,
                        "it has to be greater than that of the one in front",
                    ));
                }
                self.close(sid, code, first, offset);
            }
            if code == NULL {
                check_minislots(offset)?;
                self.end = self.after(offset);
                break;
            }
            open = Some((sid, code, offset));
        }
        for _ in rest {
            let (sid, code, offset) = information_element(reader)?;
            let sid = Sid(sid);
            if self.after(offset) != self.end {
                return Err(WireError::field(
                    "offset of an information element behind the NULL element",
                    offset,
                    "it has to be that of the NULL element",
                ));
            }
            match Usage::from_code(code) {
                Some(usage) if usage.is_data() && sid.is_one() => self.pending.push(sid),
                Some(usage) if usage.is_data() => return Err(sid_out_of_range(sid.0)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the element from one offset to another, if it is anybody's and its usage is known.
    fn close(&mut self, sid: u16, code: u8, first: u32, end: u32) {
        if let Some(usage) = Usage::from_code(code).filter(|_| sid != NOBODY) {
            self.elements.push(Element {
                sid: Sid(sid),
                usage,
                first: self.after(first),
                minislots: end - first,
            });
        }
    }

    /// The minislot at an offset, which has 14 bits; `decode` has seen that there is room for them.
    fn after(&self, offset: u32) -> Minislot {
        Minislot(self.start.0.saturating_add(offset.into()))
    }
}

/// SID, usage code, offset.
fn information_element(reader: &mut Reader) -> Result<(u16, u8, u32), WireError> {
    let element = reader.u32()?;
    let sid = (element >> 18) as u16;
    Ok((sid, (element >> 14 & 0xf) as u8, element & FOURTEEN_BITS))
}

fn check_minislots(minislots: u32) -> Result<(), WireError> {
    if (1..=Map::MAX_MINISLOTS).contains(&minislots) {
        return Ok(());
    }
    Err(WireError::field(
        "number of a MAP's minislots",
        minislots,
        "it has to be 1 to 4096",
    ))
}

fn check_ack(ack: Minislot, start: Minislot) -> Result<(), WireError> {
    if ack <= start {
        return Ok(());
    }
    Err(WireError::field(
        "Ack Time",
        ack.0,
        "it has to be no later than Alloc Start",
    ))
}

fn check_backoff(backoff: Backoff) -> Result<Backoff, WireError> {
    if backoff.end > Backoff::MAX_EXPONENT {
        return Err(WireError::field(
            "backoff end",
            backoff.end,
            "it has to be at most 15",
        ));
    }
    if backoff.start > backoff.end {
        return Err(WireError::field(
            "backoff start",
            backoff.start,
            "it has to be no greater than backoff end",
        ));
    }
    Ok(backoff)
}

fn too_many_elements(count: u64) -> WireError {
    WireError::field(
        "number of information elements",
        count,
        "a MAP has at most 240",
    )
}

fn sid_out_of_range(sid: u16) -> WireError {
    WireError::field(
        "SID",
        sid,
        "it has to be 1 to 0x3ffe, or 0x3fff where all may send",
    )
}

fn minislot(field: &'static str, low: u32, reference: Minislot) -> Result<Minislot, WireError> {
    // A MAP at the end of 64 bits could have no end.
    unwrap(low, reference)
        .filter(|minislot| minislot.0 <= u64::MAX - u64::from(FOURTEEN_BITS))
        .ok_or(WireError::field(
            field,
            low,
            "it is neither before nor after the minislot that the receiver knows",
        ))
}

/// The minislot with these lower 32 bits that is nearest to `reference`, if it is one.
fn unwrap(low: u32, reference: Minislot) -> Option<Minislot> {
    let ahead = low.wrapping_sub(reference.0 as u32) as i32;
    reference.0.checked_add_signed(ahead.into()).map(Minislot)
}
