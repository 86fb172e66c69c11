// SPDX-License-Identifier: Apache-2.0
//! Headers on the wire: from bytes into slots, and back.

use crate::bits;
use crate::code::{Code, Emitted, HeaderCode};
use crate::op::Slot;
use crate::packet::Packet;
use std::ops::Range;

/// A frame that is longer is not put together as a whole: a deparser may emit a header thousands
/// of times, and no device sends such a frame.
pub(crate) const LONG_FRAME: usize = 1 << 16;

/// Takes a header off the payload, which has it whole, and puts its fields into their slots.
// In the machine's loop it would take the registers that the loop needs.
#[inline(never)]
pub(crate) fn extract(header: &HeaderCode, packet: &mut Packet, var_bits: usize, phv: &mut [u64]) {
    let (frame, at) = (packet.frame.as_slice(), packet.payload);
    packet.payload = at + header.bytes as usize + var_bits / 8;
    packet.reshaped |= header.order <= packet.order;
    packet.order = header.order;
    phv[usize::from(header.valid)] = 1;
    phv[usize::from(header.raw)] = at as u64 + 1;
    if let Some((slot, offset)) = header.var {
        let first = 8 * at as u64 + u64::from(offset);
        phv[usize::from(slot)] = first << 32 | var_bits as u64;
    }
    // Looked at once for all: there are many loads, and this is most of what a parser costs.
    if let Some(bytes) = frame.get(at..at + header.bytes as usize + bits::WORD) {
        let slots = &mut phv[..usize::from(header.first + header.field_slots)];
        for load in &header.loads {
            debug_assert!(u32::from(load.byte) < header.bytes);
            debug_assert!(usize::from(load.slot) < slots.len());
            // SAFETY: `lower::finish` makes loads of fields alone: each begins in a byte of the
            // header, behind which a word is in `bytes`, and has its slot among the header's.
            unsafe {
                let word = bits::word_at(bytes, usize::from(load.byte));
                *slots.get_unchecked_mut(usize::from(load.slot)) =
                    word << load.before >> load.after;
            }
        }
    } else {
        // The frame ends soon behind the header.
        for load in &header.loads {
            let word = bits::load_word(frame, at + usize::from(load.byte));
            phv[usize::from(load.slot)] = word << load.before >> load.after;
        }
    }
    for field in &header.slow_loads {
        let behind = if field.after_var { var_bits } else { 0 };
        let offset = 8 * at + field.offset as usize + behind;
        let slot = usize::from(field.slot);
        if field.width <= 64 {
            phv[slot] = bits::load(frame, offset, field.width);
        } else {
            let words = usize::from(field.width.div_ceil(64));
            bits::load_slots(frame, offset, field.width, &mut phv[slot..slot + words]);
        }
    }
}

/// The valid headers in the order in which they are emitted.
fn valid_headers<'a>(code: &'a Code, phv: &'a [u64]) -> impl Iterator<Item = &'a Emitted> {
    let valid = |emitted: &&Emitted| phv[usize::from(emitted.valid)] != 0;
    code.deparse.iter().filter(valid)
}

/// Bytes of the frame that [`deparse`] would make.
#[inline]
pub(crate) fn frame_len(code: &Code, phv: &[u64], packet: &Packet) -> usize {
    if code.plain && !packet.reshaped {
        debug_assert_eq!(packet.len, sum_of_headers(code, phv, packet));
        return packet.len;
    }
    sum_of_headers(code, phv, packet)
}

fn sum_of_headers(code: &Code, phv: &[u64], packet: &Packet) -> usize {
    let mut len = packet.len - packet.payload;
    for header in valid_headers(code, phv) {
        len += header.len(phv);
    }
    len
}

/// Puts the valid headers and the payload into `out`. Bytes that nothing
/// changed are copied as they came, in as few pieces as possible. A packet that
/// is not `kept` hands its whole frame over where it can, and has `out`'s buffer
/// then and no frame: if nothing changed, or nothing but what its headers say.
/// Of a frame of more than [`LONG_FRAME`] bytes `out` has more than these at least.
/// Whether nothing changed in a frame that was handed over.
pub(crate) fn deparse(
    code: &Code,
    phv: &[u64],
    packet: &mut Packet,
    out: &mut Vec<u8>,
    kept: bool,
) -> bool {
    out.clear();
    let as_received =
        |(valid, raw): &(Slot, Slot)| phv[usize::from(*valid)] == 0 || phv[usize::from(*raw)] != 0;
    let in_place = code.plain && !packet.reshaped;
    let unchanged = in_place && code.built.iter().all(as_received);
    if in_place && !unchanged && !kept {
        rebuild_in_place(code, phv, packet, out);
        hand_over(packet, out);
        return false;
    }
    let run = if unchanged {
        debug_assert_eq!(
            Some(0..packet.payload),
            pieces::<false>(code, phv, packet, &mut Vec::new())
        );
        Some(0..packet.payload)
    } else if code.long {
        pieces::<true>(code, phv, packet, out)
    } else {
        pieces::<false>(code, phv, packet, out)
    };
    if let Some(run) = run {
        if run == (0..packet.payload) && out.is_empty() && !kept {
            hand_over(packet, out);
            return true;
        }
        out.extend_from_slice(&packet.frame[run.start..packet.len]);
    }
    false
}

/// The packet's frame is the one to send.
fn hand_over(packet: &mut Packet, out: &mut Vec<u8>) {
    std::mem::swap(&mut packet.frame, out);
    packet.len = 0;
    packet.payload = 0;
}

/// Serialises the headers that were changed where the parser found them: they are as long as
/// they were, and stand one behind the other.
fn rebuild_in_place(code: &Code, phv: &[u64], packet: &mut Packet, scratch: &mut Vec<u8>) {
    let mut at = 0;
    for header in valid_headers(code, phv) {
        let bytes = header.len(phv);
        if phv[usize::from(header.raw)] == 0 {
            scratch.clear();
            let header = &code.headers[usize::from(header.header)];
            rebuild(header, phv, &packet.frame, bytes, scratch);
            packet.frame[at..at + bytes].copy_from_slice(scratch);
        }
        at += bytes;
    }
    debug_assert_eq!(at, packet.payload);
}

/// Puts out all but the received bytes that are last, headers in front of the
/// payload that nothing changed, and says where those headers are. `None`:
/// there are none, and the payload is put out, too. With `LONG` the frame may end behind
/// [`LONG_FRAME`] bytes.
fn pieces<const LONG: bool>(
    code: &Code,
    phv: &[u64],
    packet: &Packet,
    out: &mut Vec<u8>,
) -> Option<Range<usize>> {
    // Received bytes that are to be copied next.
    let mut run = 0..0;
    for header in valid_headers(code, phv) {
        if LONG && out.len() > LONG_FRAME {
            return None;
        }
        let bytes = header.len(phv);
        let raw = phv[usize::from(header.raw)] as usize;
        if raw == 0 {
            out.extend_from_slice(&packet.frame[run.clone()]);
            run = 0..0;
            let header = &code.headers[usize::from(header.header)];
            rebuild(header, phv, &packet.frame, bytes, out);
        } else if raw - 1 == run.end {
            run.end += bytes;
        } else {
            out.extend_from_slice(&packet.frame[run]);
            run = raw - 1..raw - 1 + bytes;
        }
    }
    if run.end == packet.payload {
        return Some(run);
    }
    out.extend_from_slice(&packet.frame[run]);
    out.extend_from_slice(&packet.frame[packet.payload..packet.len]);
    None
}

/// Serialises a header from its fields.
fn rebuild(header: &HeaderCode, phv: &[u64], frame: &[u8], bytes: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes, 0);
    let to = &mut out[start..];
    let var_bits = 8 * (bytes - header.bytes as usize);
    for field in &header.fields {
        let slot = usize::from(field.slot);
        let offset = field.offset as usize + if field.after_var { var_bits } else { 0 };
        if field.var {
            let from = (phv[slot] >> 32) as usize;
            for done in (0..var_bits).step_by(8) {
                let byte = bits::load(frame, from + done, 8);
                bits::store(to, offset + done, 8, byte);
            }
        } else {
            let words = usize::from(field.width.div_ceil(64));
            bits::store_slots(to, offset, field.width, &phv[slot..slot + words]);
        }
    }
}
